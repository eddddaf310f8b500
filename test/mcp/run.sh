#!/bin/bash
# run.sh: abatis mcp, as raw messages and through the official clients, as an ordinary user.
#
#   BUILD=build test/mcp/run.sh [PART-OF-A-NAME...]
#
# wire.py: messages of both eras, and what the tools may do · files.py: files that are not what they seem · storm.py: what no client
# should send, and too much of it · client.mjs: the official TypeScript clients (package.json) · inspector.py: the Inspector's command
# line (inspector/), with a node that is new enough for it (node/). script/fetch.sh gets these from npm; a skip where they cannot be had
set -u
# shellcheck source-path=SCRIPTDIR source=../stage.sh
. "$(dirname "$0")/../stage.sh"

mkdir "$T/inspector"
cp "$here"/*.mjs "$T/test/" || exit 1

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
stage_open
for part in wire files storm; do
        take_python "$part" "$@"
done
if [ -n "$has_clients" ]; then
        take client "${as_user[@]}" "${clean[@]}" "$T/bin/node" "$T/test/client.mjs" "$@"
else
        skip the_official_clients_are_served "$(tail -n 1 "$T/why")"
fi
if [ -n "$has_inspector" ]; then
        take_python inspector "$@"
else
        skip the_inspector_is_served "$(tail -n 1 "$T/why")"
fi
stage_close
