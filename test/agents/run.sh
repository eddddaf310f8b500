#!/bin/bash
# run.sh: abatis-sh and the recipes of docs/agents, and what an agent inside must not change, as an ordinary user.
#
#   BUILD=build test/agents/run.sh
#
# shell.py: abatis-sh as a shell, and abatis hook · itself.sh: attempts on what the next run depends on · recipes.sh: what the recipes say is
# done. Each with user namespaces and without (MODES="user none").
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
export ABATIS=${ABATIS:-$BUILD/abatis} MODES=${MODES:-user none}
PATTERN='*'
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh
readonly ORDINARY_UID=4343
ID=$ORDINARY_UID
((EUID)) && ID=$EUID

T=$(mktemp -d /var/tmp/abatis-agents.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
chmod 755 "$T"
mkdir -p "$T/bin"
"${CC:-cc}" -O1 -Wall -o "$T/bin/enter" ../tree/enter.c && cp shell.py "$T/bin" && cp "$ABATIS" "$T/bin/abatis" &&
        ln "$T/bin/abatis" "$T/bin/abatis-sh" && chmod 755 "$T"/bin/* || exit 1

for mode in $MODES; do
        rm -rf "${T:?}/home"
        mkdir -p "$T/home/ws" "$T/home/.ssh"
        echo key >"$T/home/.ssh/id"
        echo note >"$T/home/note"
        echo content >"$T/home/ws/f"
        touch "$T/home/.bashrc"
        git init -q "$T/home/ws"
        ((EUID)) || chown -R "$ID:$ID" "$T/home"
        cd "$T/home/ws" || exit 1
        take "shell_$mode" env SHELL_TOP="$T" MODE="$mode" "$T/bin/enter" "$ID" "$mode" /usr/bin/env /usr/bin/python3 -B "$T/bin/shell.py"
        cd - >/dev/null || exit 1
done
take itself ./itself.sh
take recipes ./recipes.sh
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
