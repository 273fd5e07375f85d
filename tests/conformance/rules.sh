#!/usr/bin/env bash
# rules.sh SOURCE CONFORM - the numbered rules of the public headers, rules.def and the cases agree:
# each number is said once in a header, stands in rules.def, and is checked by a case.  And the cases
# are those of the list that plugins must pass.
set -euo pipefail

source=$1 conform=$2
failed=0
number='[A-Z]+-[0-9]{3}'
complain() {
  printf 'FAIL: %s\n' "$*"
  failed=1
}
# Lines of the first list that the second lacks.
lacking() {
  comm -23 <(sort -u <<<"$1") <(sort -u <<<"$2") | sed '/^$/d'
}

headers=("$source"/include/vyre_backend.h "$source"/include/vyre_types.h "$source"/include/vyre_kernel.h)
# A rule is said where its number begins a line of a comment, or follows the thread class.
said=$(sed -nE "s/^ *\* +(\[[a-z ]+\] )?($number)  .*/\2/p" "${headers[@]}")
listed=$(sed -nE "s/^RULE\(\"($number)\"\)$/\1/p" "$source/conformance/rules.def")
listing=$("$conform" --list)
checked=$(grep -oE "\b$number\b" <<<"$listing")
named=$(grep -rhoE "\b(ABI|BUF|CAP|COH|DEV|DISP|ENG|INT|KRN|LANG|PASS|READ|SEQ|TAB|TIME)-[0-9]{3}\b" \
  "$source"/conformance --include='*.c' --include='*.h')

for rule in $(sort <<<"$said" | uniq -d); do
  complain "$rule is said twice in the headers"
done
for rule in $(lacking "$said" "$listed"); do
  complain "$rule stands in a header and not in conformance/rules.def"
done
for rule in $(lacking "$listed" "$said"); do
  complain "$rule stands in conformance/rules.def and in no header"
done
for rule in $(lacking "$listed" "$checked"); do
  complain "$rule has no case (vyre-conform --list)"
done
for rule in $(lacking "$checked"$'\n'"$named" "$listed"); do
  complain "$rule is named by the suite and is no rule"
done

names=$(awk '{ print $1 }' <<<"$listing")
for name in $(sort <<<"$names" | uniq -d); do
  complain "two cases are named $name"
done
for name in $names; do
  [[ $name =~ ^[a-z0-9_]+(\.[a-z0-9_]+)+$ ]] || complain "'$name' is no name of a case"
done

# What a plugin has to pass stays as it is for an ABI version, unless somebody changes the list too.
must=$(sed '/^#/d' "$source/conformance/must-pass-0.3.txt")
now=$(awk '{ print $2, $1 }' <<<"$listing")
while read -r line; do
  complain "must-pass-0.3.txt has '$line', and the suite has no such case in that profile"
done < <(lacking "$must" "$now")
while read -r line; do
  complain "the case '$line' is not in must-pass-0.3.txt"
done < <(lacking "$now" "$must")

printf '%s rules, %s cases\n' "$(wc -l <<<"$listed")" "$(wc -l <<<"$names")"
exit "$failed"
