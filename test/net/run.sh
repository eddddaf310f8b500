#!/bin/bash
# run.sh: hosts by name: every client reaches what is allowed, and nothing that tries gets anywhere else.
#
#   test/net/run.sh [NAME-PATTERN]
#
# Everything happens in the lab (lab.sh), a network of its own, and what counts is what arrived there (sink.py), not what the
# client said. Whatever is tried inside is tried outside of the sandbox too, where it must succeed.
# $PROTOTYPE tries another program in the stead of abatis, and $INSIDE another way to start either: see inside.sh.
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
IDS=${IDS:-4343 0}         # as whom the commands run: an ordinary user, and root
MODES=${MODES:-user none} # with namespaces, and where none can be made: see test/tree/enter.c

# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh
skip() { # NAME REASON
        echo "skip $1 - $2"
        skipped=$((skipped + 1))
}

# ---- outside of the lab: build everything, then go there ----
if [[ ${1:-} != --in-lab ]]; then
        if ((EUID)); then
                skip net "the lab takes root"
                echo "$passed passed, $failed failed, $skipped skipped"
                exit 0
        fi
        LAB=$(mktemp -d /var/tmp/abatis-net.XXXXXX) || exit 1
        trap 'rm -rf "$LAB"' EXIT
        mkdir "$LAB/bin"
        flags=(-std=gnu11 -O1 -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror)
        "${CC:-cc}" "${flags[@]}" -pthread -o "$LAB/bin/attempt" attempt*.c &&
                "${CC:-cc}" "${flags[@]}" -o "$LAB/bin/enter" ../tree/enter.c &&
                "${CC:-cc}" "${flags[@]}" -o "$LAB/bin/fetch-glibc" clients/fetch.c || exit 1
        # With sanitizers nothing but the program itself is built.
        if [[ -z ${PROTOTYPE:-} && -z ${INSIDE:-} ]] && ! grep -q -- '-fsanitize=' "$BUILD/build.ninja"; then
                "${CC:-cc}" "${flags[@]}" -I../../include -o "$LAB/bin/session" session.c "$BUILD/libabatis.a" -ljansson -lyaml -pthread || exit 1
        fi
        ! type -P musl-gcc >/dev/null || musl-gcc -static "${flags[@]}" -o "$LAB/bin/fetch-musl" clients/fetch.c || exit 1
        ! type -P go >/dev/null ||
                GO111MODULE=off GOCACHE=$LAB/go CGO_ENABLED=0 go build -o "$LAB/bin/fetch-go" clients/fetch.go || exit 1
        cp inside.sh attempts.py edges.py datagrams.py ports.py published.py relay.py replaced.py sink.py "$LAB/bin/"
        cp -r clients "$LAB/clients"
        if [[ -z ${PROTOTYPE:-} && -z ${INSIDE:-} ]]; then
                cp "${ABATIS:-$BUILD/abatis}" "$LAB/bin/abatis" || exit 1
        fi
        # shellcheck disable=SC2016 # for another shell
        printf '#!/bin/sh\nexec "%s" "$(id -u)" none "%s" "$@"\n' "$LAB/bin/enter" "$LAB/bin/abatis" >"$LAB/bin/abatis-none"
        chmod 755 "$LAB/bin/abatis-none"
        [[ -z ${PROTOTYPE:-} && -z ${INSIDE:-} ]] || MODES=user
        export LAB IDS MODES
        ./lab.sh "$PWD/run.sh" --in-lab "$@"
        exit
fi
shift
PATTERN=${1:-*}
export ABATIS CLIENTS=$LAB/clients
INSIDE=${INSIDE:-$LAB/bin/inside.sh}

as_user() { # COMMAND...: what it prints comes into TEXT
        local code become=()
        ((!ID)) || become=(setpriv --reuid "$ID" --regid "$ID" --clear-groups --inh-caps=-all --)
        TEXT=$(cd "$WORK" && timeout -s KILL "${PATIENCE:-60}" "${become[@]}" env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$WORK" \
                TMPDIR="$LAB/scratch" LAB="$LAB" CLIENTS="$CLIENTS" ABATIS="$ABATIS" PROTOTYPE="${PROTOTYPE:-}" \
                NODE_EXTRA_CA_CERTS="$LAB/ca.pem" SECRET=of-the-lab "$@" 2>&1 </dev/null)
        code=$?
        return "$code"
}
outside() { as_user "$@"; }
inside() { # PLACE... -- COMMAND...
        as_user "$INSIDE" "$@"
}
sink() { "$LAB/bin/sink.py" "$@"; }
fresh() {
        chmod -R u+rwx "$WORK" 2>/dev/null
        rm -rf "$WORK"
        mkdir -p "$WORK" "$LAB/scratch"
        chown "$ID:$ID" "$WORK"
        chmod 1777 "$LAB/scratch"
}

# shellcheck source-path=SCRIPTDIR source=clients.sh
. ./clients.sh
# shellcheck source-path=SCRIPTDIR source=attempts.sh
. ./attempts.sh
# shellcheck source-path=SCRIPTDIR source=edges.sh
. ./edges.sh
# shellcheck source-path=SCRIPTDIR source=datagrams.sh
. ./datagrams.sh
# shellcheck source-path=SCRIPTDIR source=ports.sh
. ./ports.sh
for MODE in $MODES; do
        for ID in $IDS; do
                AS=
                ABATIS=$LAB/bin/abatis
                RELAY=() # where the relay is met, if not in a network of the sandbox's own
                if [[ $MODE == none ]]; then
                        AS=_without_namespaces
                        ABATIS=$LAB/bin/abatis-none
                        RELAY=({127.0.0.1,::1}:relay)
                fi
                ((ID)) || AS+=_as_root
                WORK=$LAB/work
                fresh
                test_clients
                test_attempts
                test_edges
                # Without a network of its own there are no doors.
                [[ $MODE != none ]] || continue
                test_datagrams
                test_ports
        done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
