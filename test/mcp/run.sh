#!/bin/bash
# run.sh: abatis mcp, as raw messages and through the official clients, as an ordinary user.
#
#   BUILD=build test/mcp/run.sh [PART-OF-A-NAME...]
#
# wire.py: messages of both eras, and what the tools may do · files.py: files that are not what they seem · storm.py: what no client
# should send, and too much of it · client.mjs: the official TypeScript clients (package.json) · inspector.py: the Inspector's command
# line (inspector/), with a node that is new enough for it (node/). script/fetch.sh gets these from npm; a skip where they cannot be had
set -u
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$repo/build}
ABATIS=${ABATIS:-$BUILD/abatis}
readonly ORDINARY_UID=4343
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. "$here/../sums.sh"

T=$(mktemp -d /var/tmp/abatis-mcp.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
mkdir "$T/bin" "$T/test" "$T/inspector" "$T/scratch" "$T/home"
cp "$ABATIS" "$T/bin/abatis" && cp "$here"/*.py "$here"/*.mjs "$here/../server/lib.py" "$T/test/" || exit 1
as_user=()
if ((EUID == 0)); then
        chown "$ORDINARY_UID:$ORDINARY_UID" "$T/scratch" "$T/home"
        as_user=(setpriv --reuid="$ORDINARY_UID" --regid="$ORDINARY_UID" --clear-groups)
fi

skip() { # NAME REASON
        echo "skip $1 - $2"
        skipped=$((skipped + 1))
}
fetch() { # DIRECTORY: prints where its node_modules is; if it cannot be had, why is in $T/why
        "$repo/script/fetch.sh" node "$here/$1" 2>"$T/why"
}
is_new_enough() { # NODE
        (($("$1" -p 'const [major, minor] = process.versions.node.split("."); major * 100 + +minor') >= 2219))
}
# The machine's own where the Inspector runs with it, which spares fetching one; copies, because caches are their owner's.
bring_node() {
        local node packages
        if ! node=$(command -v node) || ! is_new_enough "$node"; then
                packages=$(fetch node) || return 1
                node=$(echo "$packages"/node_modules/node-linux-*/bin/node)
        fi
        cp "$node" "$T/bin/node"
}
bring_packages() { # DIRECTORY TARGET
        local packages
        packages=$(fetch "$1") && cp -r "$packages/node_modules" "$T/$2/"
}

has_clients='' has_inspector=''
bring_node && bring_packages . test && has_clients=1
[ -n "$has_clients" ] && bring_packages inspector inspector && has_inspector=1
chmod -R a+rX "$T"
cd "$T/scratch" || exit 1
clean=(env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$T/home" LANG=C.UTF-8 SERVER_TOP="$T" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"})
for part in wire files storm; do
        take "$part" "${as_user[@]}" "${clean[@]}" /usr/bin/python3 -B "$T/test/$part.py" "$@"
done
if [ -n "$has_clients" ]; then
        take client "${as_user[@]}" "${clean[@]}" "$T/bin/node" "$T/test/client.mjs" "$@"
else
        skip the_official_clients_are_served "$(tail -n 1 "$T/why")"
fi
if [ -n "$has_inspector" ]; then
        take inspector "${as_user[@]}" "${clean[@]}" /usr/bin/python3 -B "$T/test/inspector.py" "$@"
else
        skip the_inspector_is_served "$(tail -n 1 "$T/why")"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
