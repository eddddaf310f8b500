#!/bin/bash
# run.sh: the packages for Python and Node, with the real program behind them, as an ordinary user.
#
#   BUILD=build test/clients/run.sh [PART-OF-A-NAME...]
#
# clients/python/tests, by unit.py · clients/node/test, by node itself and tap.py · package.py: what a user installs
set -u
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$repo/build}
ABATIS=${ABATIS:-$BUILD/abatis}
readonly ORDINARY_UID=4343
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. "$here/../sums.sh"

T=$(mktemp -d /var/tmp/abatis-clients.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
mkdir -p "$T/bin" "$T/test" "$T/repo/docs" "$T/node/node_modules" "$T/scratch" "$T/home"
cp "$ABATIS" "$T/bin/abatis" && cp "$here"/*.py "$here/../server/lib.py" "$T/test/" || exit 1
cp -r "$repo/clients" "$repo/meson.build" "$T/repo/" && cp "$repo/docs/server.schema.json" "$T/repo/docs/" || exit 1
ln -s "$T/repo/clients/node" "$T/node/node_modules/abatis"
cp -r "$repo/clients/node/test" "$T/node/"
chmod -R a+rX "$T"
as_user=()
if ((EUID == 0)); then
        chown -R "$ORDINARY_UID:$ORDINARY_UID" "$T/scratch" "$T/home" "$T/node"
        as_user=(setpriv --reuid="$ORDINARY_UID" --regid="$ORDINARY_UID" --clear-groups)
fi

node_tests() { # PART-OF-A-NAME...: node 18 and later have a reporter to choose
        local -a parts=()
        local part
        for part in "$@"; do
                parts+=("--test-name-pattern=${part//_/.}")
        done
        cd "$T/node" && "${as_user[@]}" "${clean[@]}" node --test --test-reporter=tap "${parts[@]}" test/*.test.js |
                "${as_user[@]}" /usr/bin/python3 -B "$T/test/tap.py"
}

clean=(env -i PATH="$T/bin:/usr/local/bin:/usr/bin:/bin" HOME="$T/home" LANG=C.UTF-8 TMPDIR="$T/scratch" SERVER_TOP="$T" ABATIS="$T/bin/abatis"
        PYTHONPATH="$T/repo/clients/python" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"})
cd "$T/scratch" || exit 1
take python "${as_user[@]}" "${clean[@]}" /usr/bin/python3 -B "$T/test/unit.py" "$T/repo/clients/python/tests" "$@"
if command -v node >/dev/null; then
        take node node_tests "$@"
else
        echo "skip node_clients - there is no node"
        skipped=$((skipped + 1))
fi
take package "${as_user[@]}" "${clean[@]}" /usr/bin/python3 -B "$T/test/package.py" "$@"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
