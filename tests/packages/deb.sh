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
  mkdir -p "$root"/tmp/{debs,source/tests/data/models}
  cp "${packages[@]}" "$root/tmp/debs"
  cp -r "$tests/data/models/stories260K" "$root/tmp/source/tests/data/models"
  cp "$tests/../debian/tests/installed" "$root/tmp"
  in_root dpkg --install $(cd "$root" && echo tmp/debs/*.deb)
  in_root sh -c 'cd /tmp/source && /tmp/installed'
  in_root dpkg --verify libml0 libml-dev mlutils
  in_root dpkg --purge mlutils libml-dev libml0
  rm -rf "$root"/tmp/{debs,source,installed}
  files > "$work/after"
  diff "$work/before" "$work/after"
  echo "bare system: installed, used and purged"
else
  for package in "${packages[@]}"; do dpkg-deb -x "$package" "$work/tree"; done
  in_tree() { env LD_LIBRARY_PATH="$(echo "$work"/tree/usr/lib/*)" "$work/tree/usr/bin/$1" "${@:2}"; }
  in_tree ml-run "$tests/data/models/stories260K" -n 40 "Once upon a time" > "$work/text"
  grep -q "little girl named Lily" "$work/text"
  echo "unpacked into a folder (no bare system to be had) and used"
fi
