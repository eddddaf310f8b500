#!/bin/bash
# run.sh: abatis mcp-wrap, and MCP servers of others in a sandbox, as an ordinary user.
#
#   BUILD=build test/wrap/run.sh [PART-OF-A-NAME...]
#
# config.py: what is done to configuration files · servers.mjs: the reference servers inside, asked by the official client; both are of npm
# (package.json), and script/fetch.sh gets them; a skip where they cannot be had
set -u
# shellcheck source-path=SCRIPTDIR source=../stage.sh
. "$(dirname "$0")/../stage.sh"

cp "$here"/*.mjs "$T/test/" || exit 1
stage_open
take_python config "$@"
if ! node=$(command -v node) || (($("$node" -p 'process.versions.node.split(".")[0]') < 20)); then
        skip the_reference_servers_work_inside "no node of version 20 or later"
elif ! packages=$("$repo/script/fetch.sh" node "$here" 2>"$T/why"); then
        skip the_reference_servers_work_inside "$(tail -n 1 "$T/why")"
else
        cp -r "$packages/node_modules" "$T/test/" && chmod -R a+rX "$T/test"
        take servers "${as_user[@]}" "${clean[@]}" "$node" "$T/test/servers.mjs" "$@"
fi
stage_close
