#!/bin/bash
# run.sh: abatis mcp-wrap, and MCP servers of others in a sandbox, as an ordinary user.
#
#   BUILD=build test/wrap/run.sh [PART-OF-A-NAME...]
#
# config.py: what is done to configuration files · servers.mjs: the reference servers inside, asked by the official client; both are of npm
# (package.json), and script/fetch.sh gets them; a skip where they cannot be had
set -u
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$repo/build}
ABATIS=${ABATIS:-$BUILD/abatis}
readonly ORDINARY_UID=4343
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. "$here/../sums.sh"

T=$(mktemp -d /var/tmp/abatis-wrap.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
mkdir "$T/bin" "$T/test" "$T/scratch" "$T/home"
cp "$ABATIS" "$T/bin/abatis" && cp "$here"/*.py "$here"/*.mjs "$here/../server/lib.py" "$T/test/" || exit 1
chmod -R a+rX "$T"
as_user=()
if ((EUID == 0)); then
        chown "$ORDINARY_UID:$ORDINARY_UID" "$T/scratch" "$T/home"
        as_user=(setpriv --reuid="$ORDINARY_UID" --regid="$ORDINARY_UID" --clear-groups)
fi

cd "$T/scratch" || exit 1
clean=(env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$T/home" LANG=C.UTF-8 SERVER_TOP="$T" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"})
take config "${as_user[@]}" "${clean[@]}" /usr/bin/python3 -B "$T/test/config.py" "$@"
skip_servers() { # REASON
        echo "skip the_reference_servers_work_inside - $1"
        skipped=$((skipped + 1))
}
if ! node=$(command -v node) || (($("$node" -p 'process.versions.node.split(".")[0]') < 20)); then
        skip_servers "no node of version 20 or later"
elif ! packages=$("$repo/script/fetch.sh" node "$here" 2>"$T/why"); then
        skip_servers "$(tail -n 1 "$T/why")"
else
        cp -r "$packages/node_modules" "$T/test/" && chmod -R a+rX "$T/test"
        take servers "${as_user[@]}" "${clean[@]}" "$node" "$T/test/servers.mjs" "$@"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
