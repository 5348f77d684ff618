#!/usr/bin/env bash
# tarball.sh FILE: unpacks it into a folder with a blank in its name and uses its tools from another folder, with no environment.
set -euo pipefail
tests=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/any where" "$work/elsewhere"
tar -xf "$1" -C "$work/any where"
tree=("$work/any where"/mlutils-*)
cp -r "$tests/data/models/stories260K" "$work/story"
cd "$work/elsewhere"
for tool in "${tree[0]}"/bin/*; do
  if readelf --dynamic --program-headers --wide "$tool" | grep -E 'NEEDED|INTERP'; then
    echo "tarball.sh: $tool needs a shared library" >&2
    exit 1
  fi
  env -i "$tool" --version > /dev/null
  name=$(basename "$tool")
  for file in "man/man1/$name.1" "bash-completion/completions/$name" "zsh/site-functions/_$name" "fish/vendor_completions.d/$name.fish"; do
    [[ -s ${tree[0]}/share/$file ]] || { echo "tarball.sh: $file is missing" >&2; exit 1; }
  done
done
run() { env -i "${tree[0]}/bin/$1" "${@:2}"; }
run mlb-quant --quiet "$work/story" --type q8_0 -o model.mlb
cp "$work/story/tokenizer.json" .
run ml-run model.mlb --threads 2 -n 40 "Once upon a time" > text
grep -q "little girl named Lily" text
run ml-run "$work/story" -n 40 "Once upon a time" > text
grep -q "little girl named Lily" text
env -i bash -c 'source "$1/share/bash-completion/completions/ml-run"; COMP_WORDS=(ml-run --di) COMP_CWORD=1; _ml_run; [[ ${COMPREPLY[*]} == --digest ]]' _ "${tree[0]}"
for page in mlb.5 ml.7; do [[ -s ${tree[0]}/share/man/man${page##*.}/$page ]]; done
for file in LICENSE README.md NEWS.md share/mlutils/recipes/llama.json share/bash-completion/completions/ml-run; do [[ -s ${tree[0]}/$file ]]; done
run mog-pack "${tree[0]}/share/mlutils/recipes/llama.json" --root "$work/story" --quiet -o model.mog
run mlb-info --check --quiet model.mog > /dev/null
echo "tarball: $(cd "${tree[0]}" && echo bin/*) run from anywhere"
