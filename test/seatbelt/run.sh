#!/bin/bash
# run.sh: profiles for macOS, compiled for random policies, allow what `abatis check` says: by an evaluator of our own, since there is
# no Mac here.
#
#   BUILD=build [SEED=number] [COUNT=policies] test/seatbelt/run.sh
#
# COUNT is for each of two runs (default: 1500): in one the evaluator's regular expressions see bytes, in the other characters. A
# failure names its SEED; with COUNT=1 it is the only one. Then profiles are spoilt on purpose, and that must be found. Which clauses were
# checked is written to $BUILD/verified/profile.tsv, for the table in the README: see script/verified.py.
set -u
here=$(cd "$(dirname "$0")" && pwd)
readonly here uid=4343
BUILD=${BUILD:-$here/../../build}

if ! said=$(BUILD="$BUILD" "$here/../build.sh" test/seatbelt/seatbelt 2>&1); then
        echo "not ok seatbelt_builds - $(grep -m 1 -E 'error|ERROR' <<<"$said" || tail -n 1 <<<"$said")"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
fi
# The evaluator tells capital letters apart, so there is none in its path.
scratch=/var/tmp/seatbelt-$$
mkdir "$scratch" || exit 1
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
cp "$BUILD/test/seatbelt/seatbelt" "$scratch"
user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv "--reuid=$uid" "--regid=$uid" --clear-groups)
number=0

play() { # LOCALE COUNT [MISTAKE]
        local root=$scratch/$((number += 1))
        mkdir "$root"
        [ "$(id -u)" -ne 0 ] || chown $uid:$uid "$root"
        LC_ALL=$1 "${user[@]}" "$scratch/seatbelt" "$root" "${SEED:-1}" "$2" "${@:3}" 2>&1
        rm -rf "$root"
}

for locale in C C.UTF-8; do
        play "$locale" "${COUNT:-1500}" >"$scratch/report"
        # A run that died on its way has failed, whatever it had passed by then.
        grep -a -q '^complete$' "$scratch/report" ||
                echo "not ok runs_to_its_end - $(tail -n 1 "$scratch/report")" >>"$scratch/report"
        grep -a -v '^complete$' "$scratch/report" | sed "s/^\(ok\|not ok\) \([a-z_]*\)/\1 ${locale//[^A-Z0-9]/}_\2/" |
                tee -a "$scratch/all"
done
for mistake in order denied protected pins members links quotes backslashes cases roots ends writes; do
        if play C 150 "$mistake" | grep -a -q '^not ok .*SEED='; then
                echo "ok a_mistake_with_${mistake}_is_found"
        else
                echo "not ok a_mistake_with_${mistake}_is_found - nothing failed"
        fi
done | tee -a "$scratch/all"
# What only a Mac can tell.
sh "$here/facts.sh" | grep -a -E '^(ok|not ok|skip) ' | tee -a "$scratch/all"
passed=$(grep -a -c '^ok ' "$scratch/all") failed=$(grep -a -c '^not ok ' "$scratch/all")
if [ "$failed" -eq 0 ]; then
        mkdir -p "$BUILD/verified"
        {
                echo "# an evaluator of profiles"
                sed -n 's/^# checked\t\([^\t]*\)\t.*/\1\tseatbelt\theld\tprofile/p' "$scratch/all" | sort -u
        } >"$BUILD/verified/profile.tsv"
fi
echo "$passed passed, $failed failed, $(grep -a -c '^skip ' "$scratch/all") skipped"
[ "$failed" -eq 0 ]
