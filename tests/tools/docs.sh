#!/usr/bin/env bash
# docs.sh SOURCE VYRE [CONFORM] - what the documents say is so: README's example is the example's file, links
# lead somewhere, the manual has every option that --help has, and the two commands exist.
set -euo pipefail

source=$1 vyre=$2 conform=${3:-}
failed=0
complain() {
  printf 'FAIL: %s\n' "$*"
  failed=1
}

# The block behind ```c in README.
if ! diff <(awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source/README.md") \
  "$source/examples/embed.c"; then
  complain "the example in README.md is not examples/embed.c"
fi

for page in "$source"/README.md "$source"/docs/*.md; do
  while IFS= read -r link; do
    [[ $link == http* || -e $(dirname "$page")/${link%%#*} ]] ||
      complain "${page#"$source"/}: no such file: $link"
  done < <(grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//')
done

for verb in devices scan run compile bench; do
  while IFS= read -r option; do
    grep -qF -- "${option//-/\\-}" "$source/docs/vyre.1" ||
      complain "docs/vyre.1 does not know $option of vyre $verb"
  done < <("$vyre" "$verb" --help | grep -o -- '--[a-z-]*' | grep -v -- '^--help$' | sort -u)
done

if [[ -n $conform ]]; then
  while IFS= read -r option; do
    grep -qF -- "${option//-/\\-}" "$source/docs/vyre-conform.1" ||
      complain "docs/vyre-conform.1 does not know $option"
  done < <("$conform" --help | grep -o -- '--[a-z-]*' | grep -v -- '^--\(help\|usage\)$' | sort -u)
fi

for script in demo test; do
  [[ -x $source/scripts/$script ]] || complain "scripts/$script is not there"
done
((failed)) || echo "PASS: documents"
exit "$failed"
