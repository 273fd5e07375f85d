# shellcheck shell=bash disable=SC2034
# common.sh - shared by the scripts of this folder: packages, sections, times.  Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

# What a build needs, and what the tests need besides.  Debian's names.
build_packages=(gcc libc6-dev binutils cmake ninja-build pkg-config libjansson-dev libmd-dev)
test_packages=(g++ libcmocka-dev clang libclang-rt-14-dev util-linux spin
  pocl-opencl-icd ocl-icd-libopencl1 opencl-headers)
# From bookworm-security, and AMD's runtime and headers of Debian 12; without them the tests that
# compile for GPUs and read their code, and that ask AMD's own runtime, compiler and declarations, are
# skipped.
optional_packages=(clang-22 lld-22 libamdhip64-5 libhiprtc-builtins5 rocm-device-libs
  libamdhip64-dev)
lint_packages=(clang-format clang-tidy shellcheck git)

bold='' red='' green='' dim='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
  bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' dim=$'\e[2m' plain=$'\e[0m'
fi

die() {
  printf '%s%s: %s%s\n' "$red" "${0##*/}" "$*" "$plain" >&2
  exit 1
}

# now: milliseconds of a clock, for differences.
now() {
  local t=${EPOCHREALTIME/[.,]/}
  printf '%s' "$((t / 1000))"
}

# elapsed START: "12.3 s" since START.
elapsed() {
  local ms=$(($(now) - $1))
  printf '%d.%d s' "$((ms / 1000))" "$((ms % 1000 / 100))"
}

heading() {
  printf '\n%s== %s ==%s\n' "$bold" "$*" "$plain"
}

# section TITLE COMMAND...: a heading, the command, the time it took.
section() {
  local title=$1 start status=0
  shift
  heading "$title"
  start=$(now)
  "$@" || status=$?
  printf '%s(%s)%s\n' "$dim" "$(elapsed "$start")" "$plain"
  return "$status"
}

# as_root COMMAND...: runs it as root, directly or through sudo.
as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  else
    sudo "$@"
  fi
}

# have_package NAME: installed, under this name or as something that provides it.
have_package() {
  local state
  state=$(dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null) || return 1
  [[ $state == installed* ]]
}

# need_packages NAME...: installs what is missing and says so.  Without network once all is there.
need_packages() {
  local name missing=()
  command -v dpkg-query >/dev/null ||
    die "this is not a Debian system. Install the equivalents of: $*; then run the steps by hand."
  for name in "$@"; do
    have_package "$name" || missing+=("$name")
  done
  ((${#missing[@]})) || return 0
  printf 'Missing packages: %s. Installing them with apt-get.\n' "${missing[*]}"
  if [[ $EUID -ne 0 ]] && ! command -v sudo >/dev/null; then
    die "not root and no sudo. Run as root: apt-get install ${missing[*]}"
  fi
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
  local install=("${apt[@]}" install -y --no-install-recommends "${missing[@]}")
  # The lists of a fresh machine are empty or old: one update, then once more.
  if ! as_root "${install[@]}" >/dev/null 2>&1; then
    as_root "${apt[@]}" update ||
      die "apt-get update failed. Check the network; needed: apt-get install ${missing[*]}"
    as_root "${install[@]}" >/dev/null ||
      die "apt-get could not install: ${missing[*]}. Run: apt-get install ${missing[*]}"
  fi
}

# want_packages NAME...: installs what is missing and to be had; says what is not.
want_packages() {
  local name
  for name in "$@"; do
    have_package "$name" || (need_packages "$name" 2>/dev/null) ||
      printf 'Not to be had here: %s. Tests that need it are skipped.\n' "$name"
  done
}

# git_here ARG...: git on this checkout, whoever owns it.
git_here() {
  git -c safe.directory="$root" -C "$root" "$@"
}

# configure PRESET [ARG...]: quiet, unless there is something to say.
configure() {
  local preset=$1
  shift
  (cd "$root" && cmake --preset "$preset" --log-level=WARNING "$@" >/dev/null)
}

# build PRESET [TARGET...]: shows warnings and errors only.
build() {
  local preset=$1
  shift
  (cd "$root" && cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"} -- --quiet)
}

# build_bench OPTION TARGET: a release build with what a benchmark is compared with, in build-bench.
build_bench() {
  cmake -S "$root" -B "$root/build-bench" -G Ninja --log-level=WARNING \
    -DCMAKE_BUILD_TYPE=Release "-D$1=ON" -DVYRE_BUILD_TESTS=OFF >/dev/null
  cmake --build "$root/build-bench" -j "$jobs" --target runtime "$2" -- --quiet
}
