#!/bin/bash
# run.sh: the packages for Python and Node, with the real program behind them, as an ordinary user.
#
#   BUILD=build test/clients/run.sh [PART-OF-A-NAME...]
#
# clients/python/tests, by unit.py · clients/node/test, by node itself and tap.py · package.py: what a user installs
set -u
# shellcheck source-path=SCRIPTDIR source=../stage.sh
. "$(dirname "$0")/../stage.sh"

mkdir -p "$T/repo/docs" "$T/node/node_modules"
cp -r "$repo/clients" "$repo/meson.build" "$T/repo/" && cp "$repo/docs/server.schema.json" "$T/repo/docs/" || exit 1
ln -s "$T/repo/clients/node" "$T/node/node_modules/abatis"
cp -r "$repo/clients/node/test" "$T/node/"
clean+=(PATH="$T/bin:/usr/local/bin:/usr/bin:/bin" TMPDIR="$T/scratch" ABATIS="$T/bin/abatis" PYTHONPATH="$T/repo/clients/python")
stage_open "$T/node"

node_tests() { # PART-OF-A-NAME...: node 18 and later have a reporter to choose
        local -a parts=()
        local part
        for part in "$@"; do
                parts+=("--test-name-pattern=${part//_/.}")
        done
        cd "$T/node" && "${as_user[@]}" "${clean[@]}" node --test --test-reporter=tap "${parts[@]}" test/*.test.js |
                "${as_user[@]}" /usr/bin/python3 -B "$T/test/tap.py"
}

take_python unit "$T/repo/clients/python/tests" "$@"
if command -v node >/dev/null; then
        take node node_tests "$@"
else
        skip node_clients "there is no node"
fi
take_python package "$@"
stage_close
