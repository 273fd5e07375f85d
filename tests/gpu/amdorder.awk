# amdorder.awk - the order of an AMD kernel's memory accesses, in what clang prints of its machine code
# (-print-before=si-memory-legalizer -print-after=branch-relaxation): there each access has its order
# and scope, before and after the fences became instructions.  Prints
#   ORDER FILE ENTRY RELEASES ACQUIRES WRITE-BACKS INVALIDATES    at system scope
#   FAIL: ...
# Variables: file, its name; arch, "gfx90a"; entries: 1 if there must be a kernel.
#
# What is asked, by the tables of LLVM's memory model for AMD GPUs:
#   - Before a release nothing of the wave is under way: on every path all loads and stores were
#     waited for.  Where the machine has a write-back (gfx90a, gfx94x, gfx95x, gfx12), it stands in
#     front of the wait, and no access in between.
#   - Behind a releasing fence of the text there is a wait of its own before the next access, which the
#     compiler does not drop; at system scope for all that is under way.
#   - A write-back is waited for before the next access, whatever it belongs to.
#   - Behind an acquire: the wait for it, then the invalidate, before the next access.
#   - There are as many write-backs as releases, and as many invalidates as acquires; where nothing
#     is written back, only those of accesses are seen in the order, fences by their number.

function complain(what, line) {
  gsub(/ +/, " ", line)
  printf "FAIL: %s: %s: %s:%s\n", file, entry, what, line
}

function family() {
  if (arch ~ /^gfx(942|950)$/)
    return "gfx94"
  if (arch == "gfx90a")
    return "gfx90a"
  if (arch ~ /^gfx9/)
    return "gfx9"
  return arch ~ /^gfx10/ ? "gfx10" : arch ~ /^gfx11/ ? "gfx11" : "gfx12"
}

# ---- one instruction ----

# Accesses to memory that others see, LDS and the constants' scalar loads apart.
function is_access(op) {
  return op ~ /^(GLOBAL|FLAT|SCRATCH)_(LOAD|STORE|ATOMIC)/ || op ~ /^BUFFER_(LOAD|STORE|ATOMIC)/
}
# Counted as loads: they bring something.
function brings(op) {
  return op ~ /_LOAD/ || op ~ /_RTN/
}
function is_write_back(op, line) {
  if (fam == "gfx90a")
    return op == "BUFFER_WBL2"
  if (fam == "gfx94")
    return op == "BUFFER_WBL2" && line ~ / (17|16)[,$ ]/
  return fam == "gfx12" && op == "GLOBAL_WB"
}
function is_system(op, line) {
  return op == "BUFFER_WBL2" ? fam == "gfx90a" || line ~ / 17[, ]/ : line ~ / 24[, ]/
}
# What has to be seen for an invalidate, of the system or of the device: all of them, in any order.
function invalidates(op, line, far) {
  if (fam == "gfx9")
    return op == "BUFFER_WBINVL1_VOL" ? 3 : 0
  if (fam == "gfx90a")
    return op == "BUFFER_WBINVL1_VOL" ? (far ? 1 : 3) : op == "BUFFER_INVL2" && far ? 2 : 0
  if (fam == "gfx94")
    return op == "BUFFER_INV" && (line ~ / 17[, ]/ || (!far && line ~ / 16[, ]/)) ? 3 : 0
  if (fam == "gfx12")
    return op == "GLOBAL_INV" && (line ~ / 24[, ]/ || (!far && line ~ / 16[, ]/)) ? 3 : 0
  return op == "BUFFER_GL0_INV" ? 1 : op == "BUFFER_GL1_INV" ? 2 : 0
}
# 1: waits for all loads, 2: for all stores, 3: for both.
function waits(op, line, n) {
  n = line
  if (op == "S_WAITCNT") {
    sub(/.*S_WAITCNT /, "", n)
    n += 0
    if (fam == "gfx11" ? int(n / 1024) != 0 : n % 16 != 0 || int(n / 16384) % 4 != 0)
      return 0
    return fam ~ /^gfx9/ ? 3 : 1
  }
  if (op == "INLINEASM") {
    if (fam == "gfx12")
      return (line ~ /s_wait_loadcnt 0x0/) + 2 * (line ~ /s_wait_storecnt 0x0/)
    n = line ~ /s_waitcnt .*vmcnt\(0\)/
    return fam ~ /^gfx9/ ? 3 * n : n + 2 * (line ~ /s_waitcnt_vscnt null, 0x0/)
  }
  if (op == "S_WAITCNT_VSCNT")
    return line ~ /sgpr_null, 0$/ ? 2 : 0
  if (op ~ /^S_WAIT_LOADCNT/)
    return line ~ / 0$/ ? 1 : 0
  if (op ~ /^S_WAIT_STORECNT/)
    return line ~ / 0$/ ? 2 : 0
  return 0
}
function releases(line) {
  return line ~ /:: .*\(.*(store|load store) (syncscope\("[a-z-]*"\) )?(release|acq_rel|seq_cst)/
}
function acquires(line) {
  return line ~ /:: .*\((load|load store) (syncscope\("[a-z-]*"\) )?(release |acq_rel |monotonic )?(acquire|acq_rel|seq_cst)/
}
function in_scope(line, name) {
  return name == "system" ? line !~ /syncscope/ : line ~ /syncscope\("agent/
}

# A releasing fence is still owed its wait.
function settle(line) {
  if (owed)
    complain("a releasing fence without a wait of its own", line)
  owed = 0
}

# The block `here` ends.
function leave() {
  if (owed)
    owes[here] = far
  owed = 0
}

function settle_later(b, k, n, to) {
  for (b in owes) {
    n = split(next_to[b], to, " ")
    for (k = 1; k <= n; ++k)
      if (!(to[k] in begins) || begins[to[k]] < 0 || (owes[b] && begins[to[k]] != 3))
        n = 0
    if (!n)
      complain("a releasing fence without a wait of its own", " at the end of " b)
  }
}

function followers(line, list) {
  list = ""
  while (match(line, /%bb\.[0-9]+/)) {
    list = list " " substr(line, RSTART + 1, RLENGTH - 1)
    line = substr(line, RSTART + RLENGTH)
  }
  return list
}

# ---- a function, read whole: its blocks' first lines and followers ----

function start(name) {
  entry = name
  lines = blocks = 0
  split("", text)
  split("", first)
  split("", follow)
}

# What is under way at the end of block b, from what is at its beginning: 1 loads, 2 stores.
function through(b, under, i, op, w) {
  for (i = first[b]; i < first[b + 1]; ++i) {
    op = code[i]
    if (is_access(op))
      under = brings(op) ? (under % 2 ? under : under + 1) : (under >= 2 ? under : under + 2)
    w = waits(op, text[i])
    if (w % 2 && under % 2)
      under -= 1
    if (w >= 2 && under >= 2)
      under -= 2
  }
  return under
}

function union(a, b) {
  return (a % 2 || b % 2 ? 1 : 0) + (a >= 2 || b >= 2 ? 2 : 0)
}

function check_block(b, under, i, k, op, w, seen, far, written, waited) {
  written = 0 # 1: a write-back that was not waited for; 2: one that was
  for (i = first[b]; i < first[b + 1]; ++i) {
    op = code[i]
    w = waits(op, text[i])
    if (w % 2 && under % 2)
      under -= 1
    if (w >= 2 && under >= 2)
      under -= 2
    if (w >= 2 && written == 1)
      written = 2
    if (is_write_back(op, text[i])) {
      written = 1
      back += is_system(op, text[i])
    }
    inv += invalidates(op, text[i], 1) >= 2
    kept += text[i] ~ / INLINEASM &"s_wait/
    if (!is_access(op))
      continue
    if (written == 1)
      complain("an access behind a write-back that nobody waited for", text[i])
    if (releases(text[i]) && (in_scope(text[i], "system") || in_scope(text[i], "agent"))) {
      far = in_scope(text[i], "system")
      if (under)
        complain("a release while accesses are under way", text[i])
      if (written != 2 && (fam == "gfx94" || (far && (fam == "gfx90a" || fam == "gfx12"))))
        complain("a release without a write-back that was waited for", text[i])
    }
    written = 0
    under = union(under, brings(op) ? 1 : 2)
    if (acquires(text[i]) && (in_scope(text[i], "system") || in_scope(text[i], "agent"))) {
      far = in_scope(text[i], "system")
      seen = waited = 0
      for (k = i + 1; k < first[b + 1] && seen != 3 && !is_access(code[k]); ++k) {
        waited = union(waited, waits(code[k], text[k]))
        w = invalidates(code[k], text[k], far)
        if (w && !(brings(op) ? waited % 2 : waited >= 2))
          complain("an invalidate that does not wait for what is acquired", text[i])
        seen = union(seen, w)
      }
      if (seen != 3)
        complain("an acquire without its invalidate", text[i])
    }
  }
}

function finish(b, k, changed, out, n, to, in_state) {
  first[blocks] = lines
  for (b = 0; b < blocks; ++b)
    in_state[b] = 0
  do {
    changed = 0
    for (b = 0; b < blocks; ++b) {
      out = through(b, in_state[b])
      n = split(follow[b], to, " ")
      for (k = 1; k <= n; ++k) {
        if (!(to[k] in number))
          continue
        if (union(in_state[number[to[k]]], out) != in_state[number[to[k]]]) {
          in_state[number[to[k]]] = union(in_state[number[to[k]]], out)
          changed = 1
        }
      }
    }
  } while (changed)
  back = inv = kept = 0
  for (b = 0; b < blocks; ++b)
    check_block(b, in_state[b])
  if ((fam == "gfx90a" || fam == "gfx94" || fam == "gfx12") && back != want_back)
    complain(want_back " releases at system scope, and " back " write-backs", "")
  if (inv < want_inv)
    complain(want_inv " acquires at system scope, and " inv " invalidates", "")
  if (kept < asked)
    complain(asked " waits were asked for, and there are " kept, "")
  if (entry !~ /^vyre_entry_/)
    return # a function that a debug build calls
  printf "ORDER %s %s %d %d %d %d\n", file, entry, want_back, want_inv, back, inv
  kernels += 1
}

BEGIN {
  fam = family()
}
/^# \*\*\* IR Dump Before/ {
  part = "before"
  next
}
/^# \*\*\* IR Dump After/ {
  part = "after"
  next
}
/^# Machine code for function/ {
  name = $6
  sub(/:.*/, "", name)
  if (part == "before") {
    entry = name
    want_back = want_inv = asked = owed = 0
    split("", owes)
    split("", begins)
    split("", next_to)
  } else {
    start(name)
    split("", number)
  }
  next
}
/^# End machine code/ {
  if (part == "before") {
    leave()
    settle_later()
  }
  if (part == "after")
    finish()
  part = ""
  next
}
# A fence may end a block whose followers begin with the wait that they have in common.
part == "before" && /^bb\.[0-9]+/ {
  leave()
  here = $1
  sub(/[^bB.0-9].*/, "", here)
  sub(/\.$/, "", here)
}
part == "before" && /^ *successors:/ {
  next_to[here] = followers($0)
}
part == "before" && / INLINEASM &"s_wait/ {
  asked += 1
  if (!(here in begins))
    begins[here] = waits("INLINEASM", $0)
  if (!far || waits("INLINEASM", $0) == 3)
    owed = 0
}
part == "before" && (/^ *S_BARRIER/ || (/ :: / && !/^ *BUNDLE/ && !/addrspace 4\)$/)) {
  if (!(here in begins))
    begins[here] = -1
  settle($0)
}
part == "before" {
  if ($1 == "ATOMIC_FENCE" && $2 + 0 >= 5) {
    settle($0)
    owed = 1
    far = $3 == 1
  }
  # 1 is the system's number, whatever the text; 4 is acquire, 5 release, 6 and 7 both.
  if ($1 == "ATOMIC_FENCE" && $3 == 1) {
    want_back += $2 + 0 >= 5
    want_inv += $2 + 0 != 5
  } else if ($0 ~ / :: / && $0 !~ /^ *BUNDLE/ && in_scope($0, "system")) {
    want_back += releases($0)
    want_inv += acquires($0)
  }
  next
}
part == "after" && /^ *successors:/ {
  follow[blocks - 1] = followers($0)
  next
}
part == "after" && /^bb\.[0-9]+/ {
  name = $1
  sub(/:$/, "", name)
  match(name, /^bb\.[0-9]+/)
  number[substr(name, 1, RLENGTH)] = blocks
  first[blocks++] = lines
  next
}
part == "after" && /^  / && !/^ *(liveins|;)/ {
  line = $0
  sub(/ ::.*/, "", line)
  op = line
  if (op ~ /INLINEASM/)
    op = "INLINEASM"
  else {
    # The results stand in front of the last " = ".
    while ((i = index(op, " = ")) > 0)
      op = substr(op, i + 3)
    while (op ~ /^ *(nsw|nuw|exact|nofpexcept|frame-setup|frame-destroy|contract|nnan|ninf|nsz|arcp|afn|reassoc|disjoint|nneg|samesign|inbounds) /)
      sub(/^ *[a-z-]+ /, "", op)
    sub(/^ */, "", op)
    sub(/[ ,].*/, "", op)
  }
  if (op == "BUNDLE" || op == "}")
    next
  code[lines] = op
  text[lines++] = $0
}
END {
  entry = "the file"
  if (entries && !kernels)
    complain("no kernel is there", "")
}
