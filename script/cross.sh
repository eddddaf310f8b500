#!/bin/bash
# cross.sh: builds abatis for another architecture, or another system.
#
#   script/cross.sh TARGET DIRECTORY        leaves DIRECTORY/abatis; TARGET is
#           amd64, arm64                    Linux
#           macos-amd64, macos-arm64        macOS 11 and newer
#
# For Linux the compiler and its C library are Debian's cross packages (script/setup.sh cross); jansson, libyaml and musl come from
# packages of that architecture (script/fetch.sh) and are not installed. For macOS the compiler is zig, which has the headers, and the
# linker LLVM's; the two libraries are built from Debian's sources. Built for itself, a machine needs none of it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=$1 directory=$2
case $target in
*amd64) cpu=x86_64 ;;
*arm64) cpu=aarch64 ;;
*)
        echo "cross: no such target: $target" >&2
        exit 2
        ;;
esac
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)

prepare_linux() {
        local root specs
        root=$("$here/fetch.sh" packages "$target" libjansson-dev libyaml-dev musl-dev)
        # musl's directions for gcc name its files where they would be installed.
        specs=$root/usr/lib/$cpu-linux-musl/musl-gcc.specs
        sed -i -E "s,( |-L)/usr/(include|lib)/$cpu,\1$root/usr/\2/$cpu,g" "$specs"
        cat <<END
[binaries]
c = '$cpu-linux-gnu-gcc'
ar = '$cpu-linux-gnu-ar'
strip = '$cpu-linux-gnu-strip'
pkgconfig = 'pkg-config'

[properties]
sys_root = '$root'
pkg_config_libdir = '$root/usr/lib/$cpu-linux-gnu/pkgconfig'

[built-in options]
c_args = ['-idirafter', '/usr/$cpu-linux-gnu/include']
END
}

# A library of C files that need no configuration but this, with what pkg-config wants to know of it.
build_library() { # NAME FLAGS HEADER... -- SOURCE...
        local name=$1 flags=$2 file
        shift 2
        mkdir -p "$directory/libraries/$name"
        while [ "$1" != -- ]; do
                cp "$1" "$directory/libraries"
                shift
        done
        shift
        for file; do
                # shellcheck disable=SC2086 # several words
                "$here/macos-cc.sh" "$zig" "$cpu" -O2 -w $flags -I"$directory/libraries" -c "$file" -o "$directory/libraries/$name/${file##*/}.o"
        done
        "$directory/ar" rcs "$directory/libraries/lib$name.a" "$directory/libraries/$name"/*.o
        printf 'Name: %s\nDescription: for %s\nVersion: 2.14\nCflags: -I%s\nLibs: -L%s -l%s\n' \
                "$name" "$target" "$directory/libraries" "$directory/libraries" "${name%-0.1}" >"$directory/libraries/$name.pc"
}

# What its configure would find out on any system of today.
configure_jansson() { # SOURCE
        local name
        sed 's/@json_inline@/inline/; s/@json_have_[a-z_]*@/1/' "$1/src/jansson_config.h.in" >"$directory/libraries/jansson_config.h"
        for name in HAVE_STDINT_H HAVE_UNISTD_H HAVE_SYS_TIME_H HAVE_SYS_TYPES_H HAVE_FCNTL_H HAVE_LOCALE_H HAVE_LOCALECONV HAVE_OPEN HAVE_CLOSE \
                HAVE_READ HAVE_GETTIMEOFDAY HAVE_GETPID HAVE_SCHED_H HAVE_SCHED_YIELD HAVE_STRTOLL HAVE_SYNC_BUILTINS HAVE_ATOMIC_BUILTINS USE_URANDOM; do
                echo "#define $name 1"
        done >"$directory/libraries/jansson_private_config.h"
        echo '#define INITIAL_HASHTABLE_ORDER 3' >>"$directory/libraries/jansson_private_config.h"
}

prepare_macos() {
        local zig jansson yaml tool
        zig=$("$here/fetch.sh" zig)
        jansson=$("$here/fetch.sh" source jansson)
        yaml=$("$here/fetch.sh" source libyaml)
        for tool in ar ranlib; do
                printf '#!/bin/sh\nexec %s %s "$@"\n' "$zig" $tool >"$directory/$tool"
        done
        chmod +x "$directory/ar" "$directory/ranlib"
        if [ ! -e "$directory/libraries/yaml-0.1.pc" ]; then
                mkdir -p "$directory/libraries"
                configure_jansson "$jansson"
                build_library jansson -DHAVE_CONFIG_H "$jansson/src/jansson.h" -- "$jansson"/src/*.c
                build_library yaml-0.1 "-DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 \
                        -DYAML_VERSION_STRING=\"0.2.5\" -DHAVE_STDINT_H -I$yaml/src" "$yaml/include/yaml.h" -- "$yaml"/src/*.c
                mv "$directory/libraries/libyaml-0.1.a" "$directory/libraries/libyaml.a"
        fi
        cat <<END
[binaries]
c = ['$here/macos-cc.sh', '$zig', '$cpu']
ar = '$directory/ar'
ranlib = '$directory/ranlib'
pkgconfig = 'pkg-config'

[properties]
pkg_config_libdir = '$directory/libraries'
END
}

case $target in
macos-*) system=darwin ;;
*) system=linux ;;
esac
prepare_${system/darwin/macos} >"$directory/cross.ini"
cat >>"$directory/cross.ini" <<END

[host_machine]
system = '$system'
cpu_family = '$cpu'
cpu = '$cpu'
endian = 'little'
END
[ -e "$directory/build.ninja" ] || meson setup "$directory" "$here/.." --cross-file "$directory/cross.ini" >"$directory/setup.log" || {
        tail -n 20 "$directory/setup.log" >&2
        exit 1
}
ninja -C "$directory" abatis
