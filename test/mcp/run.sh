#!/bin/bash
# run.sh: abatis mcp, as raw messages and through the official clients, as an ordinary user.
#
#   BUILD=build test/mcp/run.sh [PART-OF-A-NAME...]
#
# wire.py: messages of both eras, and what the tools may do · client.mjs: the official TypeScript clients (package.json), which
# script/fetch.sh gets from npm; a skip where they cannot be had
set -u
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$repo/build}
ABATIS=${ABATIS:-$BUILD/abatis}
readonly ORDINARY_UID=4343

T=$(mktemp -d /var/tmp/abatis-mcp.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
mkdir "$T/bin" "$T/test" "$T/scratch" "$T/home"
cp "$ABATIS" "$T/bin/abatis" && cp "$here"/*.py "$here"/*.mjs "$here/../server/lib.py" "$T/test/" || exit 1
chmod -R a+rX "$T"
as_user=()
if ((EUID == 0)); then
        chown "$ORDINARY_UID:$ORDINARY_UID" "$T/scratch" "$T/home"
        as_user=(setpriv --reuid="$ORDINARY_UID" --regid="$ORDINARY_UID" --clear-groups)
fi

passed=0 failed=0 skipped=0
take() { # PART COMMAND...: prints what it says, and sums it
        local part=$1 line summed=
        shift
        while IFS= read -r line; do
                if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
                        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
                        skipped=$((skipped + BASH_REMATCH[3]))
                        summed=1
                else
                        printf '%s\n' "$line"
                fi
        done < <("$@" 2>&1)
        if [ -z "$summed" ]; then
                echo "not ok ${part}_runs_to_its_end - it stopped early"
                failed=$((failed + 1))
        fi
}

skip() { # NAME REASON
        echo "skip $1 - $2"
        skipped=$((skipped + 1))
}

cd "$T/scratch" || exit 1
clean=(env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$T/home" LANG=C.UTF-8 SERVER_TOP="$T" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"})
take wire "${as_user[@]}" "${clean[@]}" /usr/bin/python3 -B "$T/test/wire.py" "$@"
if ! node=$(command -v node) || (($("$node" -p 'process.versions.node.split(".")[0]') < 20)); then
        skip the_official_clients_are_served "no node of version 20 or later"
elif ! packages=$("$repo/script/fetch.sh" node "$here" 2>"$T/why"); then
        skip the_official_clients_are_served "$(tail -n 1 "$T/why")"
else
        cp -r "$packages/node_modules" "$T/test/" && chmod -R a+rX "$T/test"
        take client "${as_user[@]}" "${clean[@]}" "$node" "$T/test/client.mjs" "$@"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
