# ptx.awk TEXT PTX - reads the kernels of a PTX file.  Prints
#   ROW FILE ENTRY COUNT...       a row of the table for each kernel
#   OP FILE ENTRY COUNT OPCODE    for each of its instructions
#   FAIL: ...                     for what must not stand there
# Variables: file, its name; kind, release or debug.
#
# TEXT says which parameters of an entry are constant (VYRE_PARAM_CONST): no other may be read by
# ld.global.nc.  Where an address comes from is followed from register to register.

function complain(what) {
  printf "FAIL: %s: %s: %s\n", file, entry, what
}

# Whether a set of parameters, " 0 3 ", lies in the constant ones of the entry.
function all_constant(set, n, i, part) {
  n = split(set, part, " ")
  for (i = 1; i <= n; ++i)
    if (part[i] != "" && index(constant[entry], " " part[i] " ") == 0)
      return 0
  return 1
}

# Adds the parameters of one set to another.
function join(to, from, n, i, part) {
  n = split(from, part, " ")
  for (i = 1; i <= n; ++i)
    if (index(to, " " part[i] " ") == 0)
      to = (to == "" ? " " : to) part[i] " "
  return to
}

# One step of following addresses; returns 1 if it learned something.
function follow(line, op, rest, cut, n, i, operand, target, found, number, from, before) {
  op = line
  sub(/[ \t].*/, "", op)
  rest = substr(line, length(op) + 1)
  cut = index(rest, ",")
  if (op ~ /^(st|bra|ret|exit|bar|fence|nanosleep|red|setp)/ || cut == 0)
    return 0
  target = substr(rest, 1, cut - 1)
  rest = substr(rest, cut + 1)
  from = ""
  if (op ~ /^ld\.param/) {
    if (match(rest, /_param_[0-9]+\]/)) {
      number = substr(rest, RSTART + 7, RLENGTH - 8)
      if (number in pointer)
        from = " " number " "
    }
  } else if (op !~ /^(ld|atom)/) {
    while (match(rest, /%[a-z]+[0-9]+/)) {
      found = substr(rest, RSTART, RLENGTH)
      if (found in origin)
        from = join(from, origin[found])
      rest = substr(rest, RSTART + RLENGTH)
    }
  }
  if (from == "")
    return 0
  n = 0
  while (match(target, /%[a-z]+[0-9]+/)) {
    found = substr(target, RSTART, RLENGTH)
    before = origin[found]
    origin[found] = join(before, from)
    n += origin[found] != before
    target = substr(target, RSTART + RLENGTH)
  }
  return n > 0
}

function finish(i, more, register) {
  do {
    more = 0
    for (i = 1; i <= lines; ++i)
      more += follow(body[i])
  } while (more)
  for (i = 1; i <= lines; ++i)
    if (body[i] ~ /^(ld\.global[a-z0-9_.:]*\.(nc|lu)|ldu)/) {
      match(body[i], /\[%[a-z]+[0-9]+/)
      register = substr(body[i], RSTART + 1, RLENGTH - 1)
      if (!all_constant(origin[register]))
        complain("reads what the program writes as constant data: " body[i])
    }
  if (!is_entry)
    return
  printf "ROW %s %s %d %d %d %d %d %d %d %d %d\n", file, entry, lines, count["ld"], count["nc"],
    count["st"], count["atom"], count["fence"], count["bar"], count["acquire"], count["release"]
  for (i in uses)
    printf "OP %s %s %d %s\n", file, entry, uses[i], i
}

# ---- the text: its entries, however their lines are broken ----
FNR == NR {
  text = text " " $0
  next
}
FNR == 1 {
  while (match(text, /VYRE_(ENTRY|ENTRY_CHANGED|ENTRY_SETTLE|FUSED)\([a-zA-Z0-9_]+, *\(/)) {
    name = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    sub(/^[A-Z_]*\(/, "", name)
    sub(/,.*/, "", name)
    list = substr(text, 1, index(text, "))"))
    while (match(list, /VYRE_PARAM_CONST\([0-9]+/)) {
      number = substr(list, RSTART + 17, RLENGTH - 17)
      constant["vyre_entry_" name] = (constant["vyre_entry_" name] == "" ? " " : \
                                      constant["vyre_entry_" name]) number " "
      list = substr(list, RSTART + RLENGTH)
    }
  }
}

# ---- the PTX ----
/^\.visible \.entry |^\.func / {
  is_entry = $0 ~ /entry/
  entry = $0
  sub(/^.*(\.entry|\.func)[ \t]*(\([^)]*\))?[ \t]*/, "", entry)
  sub(/[^A-Za-z0-9_$].*/, "", entry)
  split("", pointer)
  split("", origin)
  split("", body)
  split("", count)
  split("", uses)
  lines = 0
  defined[entry] = 1
}
/^\.extern \.func/ {
  complain("declares a function that is elsewhere: " $0)
}
/\.param \.u64 \.ptr/ {
  number = $0
  sub(/.*_param_/, "", number)
  sub(/[^0-9].*/, "", number)
  pointer[number] = 1
}
/\.local|__local_depot/ {
  complain("keeps something in memory of the item: " $0)
}
/^}/ {
  if (entry != "")
    finish()
  entry = ""
}
/^\t[a-z@{]/ && entry != "" && !/^\t\.(param|reg)/ {
  line = $0
  sub(/\/\/.*/, "", line)
  sub(/^[ \t]*/, "", line)
  sub(/^@!?%p[0-9]+[ \t]*/, "", line)
  if (line ~ /^(\{|\})?$/)
    next
  body[++lines] = line
  op = line
  sub(/[ \t;].*/, "", op)
  ++uses[op]
  count["ld"] += line ~ /^ld\./ && line !~ /^ld\.param/
  count["nc"] += line ~ /^ld\.global[a-z0-9_.:]*\.nc/
  count["st"] += line ~ /^st\./ && line !~ /^st\.param/
  count["atom"] += line ~ /^(atom|red)\./
  count["fence"] += line ~ /^(fence|membar)/
  count["bar"] += line ~ /^(bar|barrier)\./
  count["acquire"] += line ~ /acq(uire|_rel)\.sys/
  count["release"] += line ~ /(release|acq_rel)\.sys/
  if (line ~ /^call/) {
    called = line
    sub(/^call[a-z.]*[ \t]*(\([^)]*\),)?[ \t]*/, "", called)
    sub(/[^A-Za-z0-9_$].*/, "", called)
    calls[called] = 1
    if (kind == "release")
      complain("calls " called)
  }
}
END {
  for (name in calls)
    if (!(name in defined)) {
      entry = "the file"
      complain("calls " name ", which it does not hold")
    }
}
