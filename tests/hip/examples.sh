# shellcheck shell=bash disable=SC2034
# examples.sh - for hip_rtc and hip_clang: what the examples are compiled to, looked into.  Sourced
# with `vyre`, `objects`, `source`, and `out`, an empty folder; sets `failed` and `made`.

# As EF_AMDGPU_MACH numbers them.
declare -A machines=([gfx900]=2c [gfx906]=2f [gfx908]=30 [gfx90a]=3f [gfx942]=4c [gfx950]=4f
  [gfx1030]=36 [gfx1100]=41 [gfx1201]=4e)
declare -A entries=([prefix_sum]="scan_numbers scan_totals scan_tops add" [histogram]="histogram"
  [components]="hook jump jump_back" [reachability]="expand advance"
  [stencil]="fixed_there fixed_back")
failed=0 made=0

# has_library NAME: the loader would find it; ldconfig may not be in PATH, nor know all folders.
has_library() {
  local known
  known=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null) || known=
  [[ $known == *"$1"* ]] && return
  compgen -G "/usr/lib/*/$1*" >/dev/null || compgen -G "/opt/rocm*/lib/$1*" >/dev/null
}

# compile_examples ARCH...: each example for each of them, by `vyre compile`.
# shellcheck disable=SC2154 # the caller sets the paths
compile_examples() {
  local arch example names
  for arch in "$@"; do
    for example in "${!entries[@]}"; do
      read -ra names <<<"${entries[$example]}"
      if "$vyre" compile "$source/examples/$example/manifest.json" -o "$out/bundle" \
        --target "hip:$arch" && "$objects" "$out/bundle" "$arch" "${machines[$arch]}" "${names[@]}"; then
        made=$((made + 1))
      else
        echo "FAIL: $example for $arch"
        failed=1
      fi
    done
  done
}

# refuses TARGET TEXT...: it is not compiled, and the message has the texts.
# shellcheck disable=SC2154
refuses() {
  local target=$1 text
  shift
  if "$vyre" compile "$source/examples/histogram/manifest.json" -o "$out/none" \
    --target "$target" 2>"$out/said"; then
    echo "FAIL: it makes code for $target"
    failed=1
  fi
  for text in "$@"; do
    grep -qF -- "$text" "$out/said" ||
      { echo "FAIL: nothing of '$text' is said of $target: $(cat "$out/said")" && failed=1; }
  done
}
