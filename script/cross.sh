#!/bin/bash
# cross.sh: builds abatis for another architecture: the program, and with programs of the tests if they are named.
#
#   script/cross.sh ARCH DIRECTORY        amd64 or arm64; leaves DIRECTORY/abatis
#
# The compiler and its C library are Debian's cross packages (script/setup.sh cross); jansson, libyaml and musl come from
# packages of that architecture (script/fetch.sh) and are not installed. Built for itself, a machine needs none of it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
arch=$1 directory=$2
case $arch in
amd64) cpu=x86_64 ;;
arm64) cpu=aarch64 ;;
*)
        echo "cross: no such architecture: $arch" >&2
        exit 2
        ;;
esac
root=$("$here/fetch.sh" packages "$arch" libjansson-dev libyaml-dev musl-dev)

# musl's directions for gcc name its files where they would be installed.
specs=$root/usr/lib/$cpu-linux-musl/musl-gcc.specs
sed -i -E "s,( |-L)/usr/(include|lib)/$cpu,\1$root/usr/\2/$cpu,g" "$specs"

mkdir -p "$directory"
cat >"$directory/cross.ini" <<END
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

[host_machine]
system = 'linux'
cpu_family = '$cpu'
cpu = '$cpu'
endian = 'little'
END
[ -e "$directory/build.ninja" ] || meson setup "$directory" "$here/.." --cross-file "$directory/cross.ini" >"$directory/setup.log" || {
        tail -n 20 "$directory/setup.log" >&2
        exit 1
}
ninja -C "$directory" abatis
