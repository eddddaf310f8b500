#!/bin/sh
# Runs the benchmark and fails when a bar is missed: bench/run.sh [PART] [NUMBER]
#
# What was measured goes to results.json and, of launches, to launch.svg, beside this file. Peers are taken from PATH; srt and codex
# also from build/peers, where `script/setup.sh peers` puts them.
#
# PART is all (default), launch, prepared, mechanisms, overhead, bare (launch, prepared and overhead without namespaces), memory, check,
# jobs, soak, flood, hosts, net, audit, serve or clients (the packages for Python and Node); or several of them, with commas.
# NUMBER is how many rounds launch, prepared and clients take (500; audit twice as many), and how many jobs the soak runs (100,000, and up to
# these it stops after ten minutes), and how many connections the relay is held against in the end (100,000), and how many malformed lines the
# server is sent (1,000,000).
set -eu
umask 022

here=$(cd "$(dirname "$0")" && pwd)
ABATIS=${ABATIS:-$here/../build/abatis}
CC=${CC:-cc}
part=${1:-all}
rounds=${2:-500}
soak_jobs=100000
[ "$part" != soak ] || soak_jobs=${2:-$soak_jobs}
connections=100000
[ "$part" != net ] || connections=${2:-$connections}
lines=1000000
[ "$part" != serve ] || lines=${2:-$lines}
export ABATIS

stop() {
        echo "bench: $1" >&2
        exit 1
}

for name in $(echo "$part" | tr , ' '); do
        case $name in
        all | launch | prepared | mechanisms | overhead | bare | memory | check | jobs | soak | flood | hosts | net | audit | serve | clients) ;;
        *) stop "unknown part '$name': all, launch, prepared, mechanisms, overhead, bare, memory, check, jobs, soak, flood, hosts, net, audit, serve or clients" ;;
        esac
done
case $ABATIS in
/*) ;;
*) ABATIS=$PWD/$ABATIS ;;
esac
[ -x "$ABATIS" ] || stop "$ABATIS is missing: run make first, or set ABATIS"
LIBABATIS=${LIBABATIS:-$(dirname "$ABATIS")/libabatis.a}
PATH=$PATH:$here/../build/peers/node_modules/.bin
for tool in "$CC" git make find grep awk bwrap; do
        command -v "$tool" >/dev/null ||
                stop "$tool is missing (Debian: apt install build-essential git bubblewrap)"
done

wants() { # PART
        case ,$part, in
        *,all,* | *,"$1",*) return 0 ;;
        esac
        return 1
}

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
        $CC $common -static -o "$dir/bin/gush" "$here/gush.c"
        $CC $common -static -o "$dir/bin/floor" "$here/floor.c"
        least_cc=$CC
        # As of abatis itself: a static glibc program takes longer to start.
        command -v musl-gcc >/dev/null && least_cc="musl-gcc -idirafter /usr/include -idirafter /usr/include/$(uname -m)-linux-gnu"
        $least_cc $common -static -I"$here/../src" -o "$dir/bin/least" "$here/least.c"
        $CC $common -static -pthread -o "$dir/bin/notified" "$here/notified.c"
        $CC $common -static -o "$dir/bin/enter" "$here/../test/tree/enter.c"
        $CC $common -I"$here/../src" -I"$here/../include" -o "$dir/bin/filter" "$here/filter.c" \
                "$here/../src/run/filter_linux.c" "$here/../src/run/filter_sockets_linux.c" "$here/../src/base/error.c" "$here/../src/base/text.c" \
                "$here/../src/base/character.c"
        for program in launch overhead memory audit mechanisms net serve; do
                $CC $common -o "$dir/bin/$program" "$here/$program.c" "$here/sample.c" \
                        "$here/contenders.c" -lm
        done
        if wants check || wants jobs || wants soak || wants flood || wants hosts || wants prepared || wants bare; then
                [ -f "$LIBABATIS" ] || stop "$LIBABATIS is missing: run make first, or set LIBABATIS"
                for program in check concurrency soak flood hosts prepared; do
                        $CC $common -I"$here/../include" -o "$dir/bin/$program" "$here/$program.c" \
                                "$here/jobs.c" "$here/sample.c" "$here/contenders.c" "$LIBABATIS" \
                                -lm -ljansson -lyaml
                done
        fi
}
"$dir/bin/filter" >"$dir/filter"
# Read by us, as that uid may not reach it.
"$@" sh -s -- "$dir" "$part" <"$here/trees.sh"

machine="Linux $(uname -r | cut -d. -f1,2) $(uname -m), $(getconf _NPROCESSORS_ONLN) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
machine="$machine; $("$ABATIS" --version 2>/dev/null | head -n 1), $(bwrap --version)"
echo "$machine, uid $("$@" id -u)"
if wants launch; then
        echo
        "$@" "$dir/bin/launch" "$dir" "$rounds"
fi
if wants prepared; then
        echo
        HOME=$dir/home "$@" "$dir/bin/prepared" "$dir" "$rounds"
fi
if wants mechanisms; then
        echo
        "$@" "$dir/bin/mechanisms" "$dir"
        touch "$dir/bars"
fi
if wants overhead; then
        echo
        "$@" "$dir/bin/overhead" "$dir"
fi
if wants bare; then
        echo
        uid=$("$@" id -u)
        "$dir/bin/enter" "$uid" none "$dir/bin/launch" "$dir" "$rounds" bare
        echo
        HOME=$dir/home "$dir/bin/enter" "$uid" none "$dir/bin/prepared" "$dir" "$rounds" bare
        echo
        "$dir/bin/enter" "$uid" none "$dir/bin/overhead" "$dir" " without namespaces"
fi
if wants memory; then
        echo
        # Without the prefix: it drops the privileges of the sandbox itself, see memory.c.
        "$dir/bin/memory" "$dir" "$@"
fi
if wants check; then
        echo
        # The home whose secrets the policy denies is the one that was laid out.
        HOME=$dir/home "$@" "$dir/bin/check" "$dir"
fi
if wants jobs; then
        echo
        HOME=$dir/home "$@" "$dir/bin/concurrency" "$dir"
fi
if wants soak; then
        echo
        slabs=/proc/slabinfo
        [ -r "$slabs" ] || slabs=/dev/null
        # Opened by us: that uid may not.
        HOME=$dir/home "$@" "$dir/bin/soak" "$dir" "$soak_jobs" 8<"$slabs"
fi
if wants flood; then
        echo
        HOME=$dir/home "$@" "$dir/bin/flood" "$dir"
fi
if wants hosts; then
        echo
        HOME=$dir/home "$@" "$dir/bin/hosts" "$dir"
fi
if wants net; then
        echo
        HOME=$dir/home "$@" "$dir/bin/net" "$dir" "$connections"
fi
if wants serve; then
        echo
        HOME=$dir/home "$@" "$dir/bin/serve" "$dir" "$lines"
fi
if wants clients; then
        echo
        # A repository below /root is closed to that uid.
        cp -R "$here/../clients" "$here/clients.py" "$here/clients.mjs" "$dir/bin/"
        for tool in /usr/bin/python3 node; do
                command -v $tool >/dev/null || stop "$tool is missing (Debian: apt install python3 nodejs)"
        done
        HOME=$dir/home PYTHONPATH=$dir/bin/clients/python "$@" /usr/bin/python3 -B "$dir/bin/clients.py" "$dir" "$rounds"
        HOME=$dir/home "$@" node "$dir/bin/clients.mjs" "$dir/bin/clients/node" "$dir" "$rounds"
fi
if wants audit; then
        echo
        if "$ABATIS" run --help | grep -q -e --no-audit; then
                "$@" "$dir/bin/audit" "$dir" "$((rounds * 2))"
        else
                echo "audit: skipped, this abatis writes no log"
                touch "$dir/bars"
        fi
fi

echo
echo "load at the end $(cut -d' ' -f1-3 /proc/loadavg)"
cat "$dir/bars"
sh "$here/publish.sh" "$dir" "$here" "$machine"
! grep -q '^FAIL' "$dir/bars"
