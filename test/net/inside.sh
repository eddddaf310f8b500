#!/bin/bash
# inside.sh: runs a command in a sandbox in which it reaches these places and no others.
#
#   test/net/inside.sh PLACE... -- COMMAND...        a PLACE is what `connect` of a policy lists: open.example:443
#
# $PROTOTYPE is a program to take instead of abatis, with its flags; it is called with `--allow PLACE` for each, `--`, the command.
set -u
places=()
while [[ $1 != -- ]]; do
        places+=("$1")
        shift
done
shift

if [[ -n ${PROTOTYPE:-} ]]; then
        read -ra prototype <<<"$PROTOTYPE"
        allow=()
        for place in "${places[@]}"; do
                allow+=(--allow "$place")
        done
        exec "${prototype[@]}" "${allow[@]}" -- "$@"
fi

list=$(printf '"%s", ' "${places[@]}")
policy=$(mktemp "${TMPDIR:-/var/tmp}/policy.XXXXXX.yaml") || exit 125
trap 'rm -f "$policy"' EXIT
printf 'network: {mode: list, connect: [%s]}\n' "${list%, }" >"$policy"
"${ABATIS:?}" run --no-audit --policy "$policy" -- "$@"
