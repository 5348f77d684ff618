#!/bin/sh
# musl-tools.sh FOLDER: what a build against musl takes, in FOLDER/bin and FOLDER/pkgconfig.
# Debian's musl-tools have no C++ library. zig brings one, with its own clang; the libraries that the project uses are
# taken as headers alone, which Debian's are (fmt and xxHash on request).
set -eu
folder=$1
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/include" "$folder/pkgconfig"

# Meson 1.0 does not know zig's linker, which is LLVM's, and gives it an option that only others need.
for language in cc c++; do
  cat > "$folder/bin/musl-$language" << END
#!/bin/sh
case " \$* " in *" -Wl,--version "*) echo "LLD 17 (compatible with GNU linkers)"; exit ;; esac
for argument; do
  shift
  case \$argument in
    -Wl,-rpath-link,*) ;;
    *) set -- "\$@" "\$argument" ;;
  esac
done
exec $(command -v zig) $language -target $(uname -m)-linux-musl "\$@"
END
  chmod +x "$folder/bin/musl-$language"
done

# package NAME FLAGS HEADER...
package() {
  name=$1
  flags=$2
  shift 2
  for header in "$@"; do
    ln -s "/usr/include/$header" "$folder/include/$header"
  done
  cat > "$folder/pkgconfig/$name.pc" << END
Name: $name
Description: headers alone
Version: $(pkg-config --modversion "$name")
Cflags: -isystem $folder/include $flags
END
}
package fmt -DFMT_HEADER_ONLY fmt
package libxxhash -DXXH_INLINE_ALL xxhash.h xxh3.h
package nlohmann_json "" nlohmann
package CLI11 "" CLI
package catch2 "" catch2
