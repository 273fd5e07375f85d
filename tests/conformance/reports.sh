#!/usr/bin/env bash
# reports.sh CONFORM PLUGIN - what vyre-conform says of a plugin that fails handshake.large_host:
# exceptions, the numbers in the reports, exit statuses, where reports go, and runs that are stopped.
set -euo pipefail

conform=$1 plugin=$2 failed=0 status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

complain() {
  printf 'FAIL: %s\n' "$*"
  sed 's/^/    /' "$work/out"
  failed=1
}

# suite STATUS ARGUMENT...: runs the cases of the handshake, which must end so.
suite() {
  local want=$1
  shift
  status=0
  "$conform" "$plugin" --filter 'handshake.*' --json "$work/json" --junit "$work/xml" "$@" \
    >"$work/out" 2>&1 || status=$?
  [[ $status == "$want" ]] || complain "exit status $status, expected is $want: $*"
}

# has FILE PATTERN: a line of it matches.
has() {
  grep -qE "$2" "$work/$1" || complain "no line of $1 matches '$2'"
}
has_not() {
  ! grep -qE "$2" "$work/$1" || complain "a line of $1 matches '$2'"
}

# except CASE [EXPIRES]: a file of one exception.
except() {
  printf '[{"case": "%s", "reason": "known", "abi": "%s", "expires": "%s"}]\n' "$1" "$abi" \
    "${2-2999-12-31}" >"$work/exceptions"
}

suite 1 --seed 1
has out '^fail +handshake\.large_host '
abi=$(sed -nE 's/.*built with ABI [0-9.]+, speaks ([0-9.]+)$/\1/p' "$work/out")

# While it runs it is said what it counts as.
except handshake.large_host
suite 0 --exceptions "$work/exceptions"
has out '^expected-fail +handshake\.large_host '
has_not out '^fail '
has out '0 failed, 1 expected to fail'
has json '"verdict": "expected-fail"'
has xml '<skipped message="expected-fail: '
suite 0 --exceptions "$work/exceptions" --quiet
has_not out 'large_host'

except handshake.same_table
suite 1 --exceptions "$work/exceptions"
has out '^fail +handshake\.same_table '
has out 'remove the exception'

except handshake.large_host 2001-01-01
suite 1 --exceptions "$work/exceptions"
has out '^fail +handshake\.large_host '
has out 'handshake\.large_host has expired'

except handshake.no_such_case
suite 1 --exceptions "$work/exceptions"
has out 'handshake\.no_such_case matches no case'

# Every reader of JSON takes every seed.
most=9007199254740991
suite 1 --seed "$most"
has out "^seed +$most\$"
has json "\"seed\": $most,?\$"
suite 2 --seed "$((most + 1))"
suite 2 --seed 18446744073709551615
suite 1
has json '"seed": [0-9]+,?$'
has json '"cpu_seconds": [0-9.e-]+,?$'

suite 3 --profile timing

# A name that fits nothing is a mistake, also beside one that fits.
suite 2 --filter 'no_such.*'
has out "'no_such\.\*' fits no case"

# Devices and links stay what they are.
if mkfifo "$work/pipe" 2>/dev/null; then
  "$conform" "$plugin" --filter handshake.light --json "$work/pipe" >"$work/out" 2>&1 &
  timeout 60 cat "$work/pipe" >"$work/json" || complain 'nothing came through a pipe'
  has json '"sums"'
  wait "$!" || complain 'a report could not be written into a pipe'
  [[ -p $work/pipe ]] || complain 'a report has replaced a pipe'
fi
: >"$work/real"
ln -s real "$work/link"
"$conform" "$plugin" --filter handshake.light --json "$work/link" >"$work/out" 2>&1 || complain 'a link'
[[ -L $work/link && -s $work/real ]] || complain 'a report has replaced a link'

# Without standard streams it is the same plugin.
status=0
"$conform" "$plugin" --filter handshake.light --json "$work/json" <&- >&- 2>&- || status=$?
[[ $status == 0 ]] || complain "exit status $status without standard streams"
has json '"pass": 1,?$'
# What cannot be written is no success.
if [[ -c /dev/full ]]; then
  status=0
  "$conform" "$plugin" --filter handshake.light >/dev/full 2>"$work/out" || status=$?
  [[ $status == 2 ]] || complain "exit status $status when nothing can be written"
fi

# Without descriptors no case runs, and none is said to have passed.  What whoever runs the tests
# has left open would not even let the program be loaded.
for most in 4 6 8; do
  status=0
  (exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- && ulimit -n "$most" &&
    exec "$conform" "$plugin" --filter 'handshake.*' --jobs 8) \
    >"$work/out" 2>&1 || status=$?
  [[ $status == 2 || $status == 5 ]] || complain "exit status $status with $most descriptors"
  has_not out ' 12 passed'
done

# A run that is stopped tells what was done, writes its reports, and leaves no process.
rm "$work/json"
VYRE_REPORTS_TEST=$work "$conform" "$plugin" --json "$work/json" --certificate "$work/certificate" \
  >"$work/out" 2>&1 &
run=$!
timeout 60 bash -c "until grep -q ^pass \"\$1\"; do sleep 0.05; done" - "$work/out" || complain "no case passed"
kill -TERM "$run"
status=0
wait "$run" || status=$?
[[ $status == 143 ]] || complain "exit status $status of a run that was stopped"
has out '^vyre-conform: stopped by signal 15 '
has json '"verdict": "skipped"'
[[ ! -e $work/certificate ]] || complain 'a run that was stopped has a certificate'
left=$(grep -lszFx "VYRE_REPORTS_TEST=$work" /proc/[0-9]*/environ) || true
[[ ! $left ]] || complain "processes are left: $left"
exit "$failed"
