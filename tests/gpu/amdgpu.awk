# amdgpu.awk - reads the kernels of an assembly text for an AMD GPU.  Prints
#   ROW FILE ENTRY COUNT...       a row of the table for each kernel
#   OP FILE ENTRY COUNT WHAT      how often the entry makes its stores or loads visible
#   FAIL: ...                     for what must not stand there
# Variables: file, its name; arch, "gfx90a"; kind, release or debug.
#
# WHAT is wb.sys and inv.sys, the write-back before a release and the invalidate after an acquire at
# system scope, inv.agent the one of the device, barrier, and rmw: a read-modify-write.

function complain(what) {
  complain_of(entry, what)
}

function complain_of(whom, what) {
  printf "FAIL: %s: %s: %s\n", file, whom, what
}

# On the two oldest machines a lane of a group of 1024 has 64 registers, and an engine's entry, which
# has all handlers of its set in it, may need more; so may a fused kernel with debug code.
function may_spill(whom) {
  return arch ~ /^gfx90[06]$/ && (whom ~ /^vyre_entry_vyre_engine_(persistent|wide)$/ ||
    (kind == "debug" && whom == "vyre_entry_vyre_fused"))
}

function finish(i) {
  printf "ROW %s %s %d %d %d %d %d %d %d\n", file, entry, lines, uses["load"], uses["store"],
    uses["rmw"], uses["wb.sys"], uses["inv.sys"], uses["barrier"]
}

/^vyre_entry_[A-Za-z0-9_]*:/ {
  entry = $1
  sub(/:.*/, "", entry)
  lines = 0
  split("", uses)
}
/^\.Lfunc_end/ && entry != "" {
  finish()
  for (i in uses)
    printf "OP %s %s %d %s\n", file, entry, uses[i], i
  entry = ""
}
/^\t[a-z]/ && entry != "" {
  line = $0
  sub(/;.*/, "", line)
  gsub(/[ \t]+/, " ", line)
  sub(/^ /, "", line)
  sub(/ $/, "", line)
  ++lines
  uses["load"] += line ~ /^global_load/
  uses["store"] += line ~ /^global_store/
  uses["rmw"] += line ~ /^global_atomic/
  uses["barrier"] += line ~ /^s_barrier/
  # What writes back and invalidates; the order of it all is amdorder.awk's.
  if (arch == "gfx90a") {
    uses["wb.sys"] += line ~ /^buffer_wbl2/
    uses["inv.sys"] += line ~ /^buffer_invl2/
    uses["inv.agent"] += line ~ /^buffer_wbinvl1_vol/
  } else if (arch == "gfx942" || arch == "gfx950") {
    uses["wb.sys"] += line ~ /^buffer_wbl2 sc0 sc1/
    uses["inv.sys"] += line ~ /^buffer_inv sc0 sc1/
    uses["inv.agent"] += line ~ /^buffer_inv.* sc1/
  } else if (arch ~ /^gfx12/) {
    uses["wb.sys"] += line ~ /^global_wb scope:SCOPE_SYS/
    uses["inv.sys"] += line ~ /^global_inv scope:SCOPE_SYS/
    uses["inv.agent"] += line ~ /^global_inv scope:SCOPE_(SYS|DEV)/
  } else {
    # Nothing to write back: stores go through, and are waited for where there are any.
    inv = arch ~ /^gfx9/ ? line ~ /^buffer_wbinvl1_vol/ : line ~ /^buffer_gl1_inv/
    uses["inv.sys"] += inv
    uses["inv.agent"] += inv
  }
  if (line ~ /^scratch_/)
    complain("uses memory of the item: " line)
  # A debug build looks at its fault record by such a one.
  if (line ~ /^flat_/ && kind == "release")
    complain("uses an address of unknown kind: " line)
  if (line ~ /^buffer_(load|store|atomic)/ && !may_spill(entry))
    complain("uses memory of the item: " line)
  if (line ~ /^s_(swappc|setpc)_b64/ && kind == "release")
    complain("calls something: " line)
}

# ---- what stands behind the code about each kernel ----

/^ *\.amdhsa_kernel|^\t\.amdhsa_kernel/ {
  described = $2
  kernels++
}
/\.amdhsa_(private_segment_fixed_size|uses_dynamic_stack|enable_private_segment|float_round_mode_32|float_round_mode_16_64) / && $2 != 0 {
  if ($1 !~ /private_segment/ || !may_spill(described))
    complain_of(described, $1 " is " $2)
}
/\.amdhsa_float_denorm_mode_(32|16_64) / && $2 != 3 {
  complain_of(described, $1 " is " $2 ": denormals are lost")
}
/^ *- *\.args:|^ *\.name:/ {
  if ($1 == ".name:")
    named = $2
}
/^ *\.(vgpr_spill_count|private_segment_fixed_size):/ {
  facts++
  if ($2 != 0 && !may_spill(named))
    complain_of(named, $1 " " $2)
}
END {
  if (facts != 2 * kernels)
    complain_of("the file", "says " facts " facts of " kernels " kernels")
}
