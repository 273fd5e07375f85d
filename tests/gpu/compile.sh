# shellcheck shell=bash
# compile.sh - for cuda_compile and hip_compile: every kernel text behind a vendor's prelude through
# clang to assembly, release and debug.  Sourced with `texts`, `out`, `preludes`, `architectures`,
# `suffix` and `options`; ARCH in an option stands for the architecture.  With `reader`, an awk script,
# what clang prints beside is read by it, and NAME.ARCH.KIND.order is what that says.

clang="clang-22"

# one TEXT ARCH KIND: nothing may be warned of.
# shellcheck disable=SC2317,SC2154 # xargs calls it; the caller sets the variables
one() {
  local name=${1##*/} with
  name=${name%.vyre.c}
  read -ra with <<<"${options//ARCH/$2}"
  [[ $3 == release ]] && with+=(-DVYRE_DEBUG=0) || with+=(-DVYRE_DEBUG=1)
  # Random texts have names that nothing uses.
  [[ $name != drawn_* ]] || with+=(-Wno-unused -Wno-unused-parameter)
  # The text of a program includes the language by name; here it stands in front.
  if ! sed '/^#include "vyre_kernel.h"$/d' "$1" | cat "$out/prelude.h" - <(echo '}') |
    "$clang" -S -std=c++17 -O2 -ffp-contract=off -fno-strict-aliasing -Wall -Wextra -Werror \
      "${with[@]}" -o "$out/$name.$2.$3.$suffix" - 2>"$out/$name.$2.$3.said"; then
    sed -n '/error:\|warning:/,+3p' "$out/$name.$2.$3.said"
    echo "FAIL: $name for $2, $3" && return 1
  fi
  if [[ ${reader:-} ]]; then
    awk -f "$reader" -v "file=$name.$2.$3" -v "arch=$2" -v entries=1 "$out/$name.$2.$3.said" \
      >"$out/$name.$2.$3.order"
  fi
  rm "$out/$name.$2.$3.said"
}

# compile_all: all of them, two at a time; for the first architecture and without most of the random
# texts, or with VYRE_TEST_ALL_TARGETS everything for each.
# shellcheck disable=SC2154
compile_all() {
  local failed=0 text arch kind count
  if ! command -v "$clang" >/dev/null; then
    echo "SKIP: there is no $clang. Run: apt-get install $clang"
    exit 77
  fi
  [[ ${VYRE_TEST_ALL_TARGETS:-} ]] || architectures=("${architectures[0]}")
  rm -rf "$out"
  mkdir -p "$out"
  "$texts" "$out"
  [[ ${VYRE_TEST_ALL_TARGETS:-} ]] || rm -f "$out"/drawn_*_[1-9]*.vyre.c
  cat "${preludes[@]}" >"$out/prelude.h"
  export -f one
  export clang out suffix options reader
  for text in "$out"/*.vyre.c; do
    for arch in "${architectures[@]}"; do
      for kind in release debug; do
        printf '%s\0%s\0%s\0' "$text" "$arch" "$kind"
      done
    done
  done >"$out/jobs"
  count=$(tr -cd '\0' <"$out/jobs" | wc -c)
  xargs -0 -n 3 -P 2 bash -c 'one "$@"' one <"$out/jobs" || failed=1
  printf '%d compilations of %d texts for %s, release and debug\n' "$((count / 3))" \
    "$(find "$out" -name '*.vyre.c' | wc -l)" "${architectures[*]}"
  return "$failed"
}
