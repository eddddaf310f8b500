#!/bin/bash
# run.sh: what check says is what the sandbox does, for random trees and policies, as an ordinary user, where there are no
# namespaces, and, if root starts it, as root too.
#
#   BUILD=build [SEED=number] [COUNT=comparisons] test/property/run.sh
#
# COUNT is for each of them (default: 12000); the default SEED is always the same. A failure names its SEED; with
# COUNT=1 it is the only round. KEEP=1 ends with the first failure and leaves its tree and policy file where they are.
# VERBOSE=1 tells why policies are refused.
set -u
here=$(cd "$(dirname "$0")" && pwd)
readonly here uid=4343
BUILD=${BUILD:-$here/../../build}

if ! said=$(BUILD="$BUILD" "$here/../build.sh" test/property/{property,probe,forty-two} 2>&1); then
        echo "not ok property_builds - $(grep -m 1 -E 'error|ERROR' <<<"$said" || tail -n 1 <<<"$said")"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
fi
scratch=$(mktemp -d /var/tmp/property.XXXXXX) || exit 1
[ -n "${KEEP:-}" ] || trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
mkdir "$scratch"/{bin,root,user,bare}
"${CC:-cc}" -std=gnu11 -O1 -static -o "$scratch/bin/enter" "$here/../tree/enter.c" || exit 1
cp "$BUILD"/test/property/{property,probe,forty-two} "$scratch/bin"
seed=${SEED:-1000}

play() { # ROLE [COMMAND...]: the command, if any, runs it as somebody else
        local role=$1
        shift
        "$@" "$scratch/bin/property" "$role" "$scratch/$role" "$scratch/bin" "$seed" "${COUNT:-12000}" \
                >"$scratch/report.$role" 2>&1
        # A run that died on its way has failed, whatever it had passed by then.
        grep -q '^complete$' "$scratch/report.$role" ||
                echo "not ok property_runs_to_its_end_as_$role - $(tail -n 1 "$scratch/report.$role")" \
                        >>"$scratch/report.$role"
}

if [ "$(id -u)" -eq 0 ]; then
        chown $uid:$uid "$scratch"/{user,bare}
        # Side by side: they share nothing but the programs.
        play root &
        play user setpriv --reuid=$uid --regid=$uid --clear-groups
        wait
        play bare "$scratch/bin/enter" $uid none
else
        play user
        play bare "$scratch/bin/enter" "$(id -u)" none
fi
cat "$scratch"/report.* | grep -v '^complete$' | tee "$scratch/all"
passed=$(grep -c '^ok ' "$scratch/all") failed=$(grep -c '^not ok ' "$scratch/all")
echo "$passed passed, $failed failed, $(grep -c '^skip ' "$scratch/all") skipped"
[ -z "${KEEP:-}" ] || echo "kept: $scratch"
[ "$failed" -eq 0 ]
