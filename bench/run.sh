#!/bin/sh
# Runs the benchmark and fails when a bar is missed: bench/run.sh [all|launch|overhead|memory|check] [ROUNDS]
set -eu
umask 022

here=$(cd "$(dirname "$0")" && pwd)
ABATIS=${ABATIS:-$here/../build/abatis}
CC=${CC:-cc}
part=${1:-all}
rounds=${2:-500}
export ABATIS

stop() {
        echo "bench: $1" >&2
        exit 1
}

case $part in
all | launch | overhead | memory | check) ;;
*) stop "unknown part '$part': all, launch, overhead, memory or check" ;;
esac
case $ABATIS in
/*) ;;
*) ABATIS=$PWD/$ABATIS ;;
esac
[ -x "$ABATIS" ] || stop "$ABATIS is missing: run make first, or set ABATIS"
LIBABATIS=${LIBABATIS:-$(dirname "$ABATIS")/libabatis.a}
for tool in "$CC" git make find grep awk bwrap; do
        command -v "$tool" >/dev/null ||
                stop "$tool is missing (Debian: apt install build-essential git bubblewrap)"
done

# Not below /tmp or the caller's TMPDIR: every contender puts an empty directory over /tmp.
dir=$(mktemp -d /var/tmp/abatis-bench.XXXXXX)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
mkdir "$dir/bin"
chmod 755 "$dir" "$dir/bin"
cd "$dir"

# Users are not root, so root measures as an ordinary uid. The prefix is empty for everybody else.
if [ "$(id -u)" = 0 ]; then
        chown 4343:4343 "$dir"
        setpriv=$(command -v setpriv) || stop "setpriv is missing (Debian: apt install util-linux)"
        set -- "$setpriv" --reuid=4343 --regid=4343 --clear-groups --
        # A repository below /root is closed to that uid.
        if ! "$@" test -x "$ABATIS"; then
                cp "$ABATIS" "$dir/bin/abatis"
                chmod 755 "$dir/bin/abatis"
                ABATIS=$dir/bin/abatis
        fi
else
        set --
fi

common="-O2 -Wall -Wextra -std=gnu11"
# shellcheck disable=SC2086 # the flags are words
{
        $CC $common -static -o "$dir/bin/true" "$here/true.c"
        $CC $common -static -o "$dir/bin/bench-hold" "$here/hold.c"
        for program in launch overhead memory; do
                $CC $common -o "$dir/bin/$program" "$here/$program.c" "$here/sample.c" \
                        "$here/contenders.c" -lm
        done
        if [ "$part" = all ] || [ "$part" = check ]; then
                [ -f "$LIBABATIS" ] || stop "$LIBABATIS is missing: run make first, or set LIBABATIS"
                $CC $common -I"$here/../include" -o "$dir/bin/check" "$here/check.c" "$here/sample.c" \
                        "$here/contenders.c" "$LIBABATIS" -lm -ljansson -lyaml
        fi
}
# Read by us, as that uid may not reach it.
"$@" sh -s -- "$dir" "$part" <"$here/trees.sh"

echo "kernel $(uname -r) $(uname -m), $(getconf _NPROCESSORS_ONLN) cores," \
        "load $(cut -d' ' -f1-3 /proc/loadavg), uid $("$@" id -u)"
echo "$("$ABATIS" --version 2>/dev/null | head -n 1) against $(bwrap --version)"
if [ "$part" = all ] || [ "$part" = launch ]; then
        echo
        "$@" "$dir/bin/launch" "$dir" "$rounds"
fi
if [ "$part" = all ] || [ "$part" = overhead ]; then
        echo
        "$@" "$dir/bin/overhead" "$dir"
fi
if [ "$part" = all ] || [ "$part" = memory ]; then
        echo
        # Without the prefix: it drops the privileges of the sandbox itself, see memory.c.
        "$dir/bin/memory" "$dir" "$@"
fi
if [ "$part" = all ] || [ "$part" = check ]; then
        echo
        # The home whose secrets the policy denies is the one that was laid out.
        HOME=$dir/home "$@" "$dir/bin/check" "$dir"
fi

echo
echo "load at the end $(cut -d' ' -f1-3 /proc/loadavg)"
cat "$dir/bars"
! grep -q '^FAIL' "$dir/bars"
