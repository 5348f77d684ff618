#!/usr/bin/env bash
# deb.sh FOLDER [ROOT]: looks at the Debian packages in FOLDER: lintian has nothing to say; in a bare system they install, the tools
# and the programs over the library run, and after a purge no file is left. ROOT is such a system (debootstrap --variant=minbase with
# $bare_packages); without it one is made, which takes root and a mirror, or the packages are unpacked into an empty folder.
set -euo pipefail
tests=$(cd "$(dirname "$0")/.." && pwd)
bare_packages=libfmt9,libxxhash0,g++,pkg-config
debs=$(cd "$1" && pwd)
root=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shopt -s nullglob
packages=("$debs"/{libml0,libml-dev,mlutils}_*.deb)
[[ ${#packages[@]} -eq 3 ]] || { echo "deb.sh: $debs must hold one each of libml0, libml-dev, mlutils" >&2; exit 1; }

if command -v lintian > /dev/null; then
  lintian --fail-on error,warning --allow-root "$debs"/mlutils_*.changes
  echo "lintian: clean"
fi

# What a user would do; runs in the system that holds the packages.
use_packages() {
  "$@" ml-run --version
  "$@" mlb-quant --quiet /tmp/story --type q8_0 -o /tmp/story/model.mlb
  "$@" mlb-info --check --quiet /tmp/story/model.mlb > /dev/null
  "$@" ml-run /tmp/story/model.mlb -n 40 "Once upon a time" > "$work/expected"
  grep -q "little girl named Lily" "$work/expected"
}

if [[ -z $root && $(id -u) -eq 0 ]] && command -v debootstrap > /dev/null; then
  root=$work/root
  mirror=$(apt-cache policy base-files | sed -n 's/^ *500 \(http[^ ]*debian\) .*/\1/p' | head -n 1)
  debootstrap --variant=minbase --include="$bare_packages" bookworm "$root" "$mirror" > "$work/log" 2>&1 || {
    tail -n 3 "$work/log"
    root=
  }
fi

if [[ -n $root ]]; then
  in_root() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
  files() { (cd "$root" && find . -xdev ! -path './proc/*' ! -path './tmp/*' ! -path './var/lib/dpkg/*' ! -path './var/log/*' ! -path './var/cache/*' | sort); }
  files > "$work/before"
  mkdir -p "$root/tmp/debs"
  cp "${packages[@]}" "$root/tmp/debs"
  cp -r "$tests/data/models/stories260K" "$root/tmp/story"
  in_root dpkg --install $(cd "$root" && echo tmp/debs/*.deb)
  use_packages in_root
  # shellcheck disable=SC2016
  in_root sh -c 'cd /tmp && cc -std=c99 /usr/share/mlutils/examples/generate.c -o generate-c $(pkg-config --cflags --libs libml)'
  in_root /tmp/generate-c /tmp/story/model.mlb | cmp - "$work/expected"
  # shellcheck disable=SC2016
  in_root sh -c 'cd /tmp && g++ -std=c++20 /usr/share/mlutils/examples/generate.cpp -o generate-cpp $(pkg-config --cflags --libs libml)'
  in_root /tmp/generate-cpp /tmp/story/model.mlb | cmp - "$work/expected"
  in_root dpkg --verify libml0 libml-dev mlutils
  in_root dpkg --purge mlutils libml-dev libml0
  rm -rf "$root"/tmp/{debs,story,generate-c,generate-cpp}
  files > "$work/after"
  diff "$work/before" "$work/after"
  echo "bare system: installed, used and purged"
else
  for package in "${packages[@]}"; do dpkg-deb -x "$package" "$work/tree"; done
  cp -r "$tests/data/models/stories260K" "$work/story"
  in_tree() { env LD_LIBRARY_PATH="$(echo "$work"/tree/usr/lib/*)" "$work/tree/usr/bin/$1" "${@:2}"; }
  cd "$work"
  in_tree ml-run "$work/story" -n 40 "Once upon a time" | grep -q "little girl named Lily"
  echo "unpacked into a folder (no bare system to be had) and used"
fi
