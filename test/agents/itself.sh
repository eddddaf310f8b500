#!/bin/bash
# itself.sh: a part of run.sh: an agent inside cannot change its own policy, the record of trust, the audit log, abatis, or what programs outside run.
#
# For each preset, with user namespaces and without, all attempts of itself.py in one command, as an ordinary user whose abatis lies
# in ~/.local/bin. What it says is not believed: the tree is compared, and the chain of the log verified.
set -u
cd "$(dirname "$0")" || exit 1
PATTERN='*'
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh
readonly ORDINARY_UID=4343
ABATIS=${ABATIS:-$PWD/../../build/abatis}
MODES=${MODES:-user none}

T=$(mktemp -d /var/tmp/abatis-agents.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
chmod 755 "$T"
mkdir "$T/bin" "$T/scratch"
"${CC:-cc}" -O1 -Wall -o "$T/bin/enter" ../tree/enter.c || exit 1
ID=$ORDINARY_UID
((EUID)) && ID=$EUID
H=$T/home

enter() { # MODE COMMAND...: in the workspace; what it prints comes into TEXT
        local mode=$1 code
        shift
        TEXT=$(cd "$H/ws" && env -i HOME="$H" PATH="$H/.local/bin:/usr/bin:/bin" \
                timeout -s KILL 100 "$T/bin/enter" "$ID" "$mode" /usr/bin/env "$@" 2>&1 </dev/null)
        code=$?
        return "$code"
}
attempts=(/usr/bin/python3 -B "$H/ws/scratch/itself.py")

fresh() {
        chmod -R u+rwx "$H" 2>/dev/null
        rm -rf "$H"
        mkdir -p "$H/.local/bin" "$H/ws/scratch"
        cp itself.py "$H/ws/scratch"
        cp "$ABATIS" "$H/.local/bin/abatis" && ln "$H/.local/bin/abatis" "$H/.local/bin/abatis-sh"
        git init -q "$H/ws"
        ((EUID)) || chown -R "$ID:$ID" "$H" "$T/scratch"
        enter user "${attempts[@]}" world "$H" || exit 1
        rm -rf "$H/.local/state"
        # The record of trust and the log are real ones.
        enter user abatis trust || exit 1
        enter user abatis run -- true
}

# Nothing of it works, nothing is changed, and the log is whole.
holds() { # NAME MODE GROUPS COMMAND...
        local name=$1 mode=$2 groups=$3 code before worked
        shift 3
        fresh
        enter user "${attempts[@]}" state "$H"
        before=$TEXT
        enter "$mode" "$@" "${attempts[*]} try $H $groups"
        code=$?
        worked=$(grep WORKED <<<"$TEXT" | head -n 8 | tr '\n' ';')
        if [[ $code != 0 || $TEXT != *" tried" || -n $worked ]]; then
                not_ok "$name" "exit $code: ${worked:-${TEXT:0:300}}"
                return
        fi
        enter user "${attempts[@]}" state "$H"
        if [[ $TEXT != "$before" ]]; then
                not_ok "$name" "the tree is another: $(diff <(echo "$before") <(echo "$TEXT") | head -n 4 | tr '\n' ';')"
        elif ! enter user abatis audit verify; then
                not_ok "$name" "the log is not whole: ${TEXT:0:200}"
        else
                ok "$name"
        fi
}

fresh
enter user "${attempts[@]}" control "$H" "$T/scratch"
grep '^not ok' <<<"$TEXT" && failed=$((failed + $(grep -c '^not ok' <<<"$TEXT")))
if [[ $TEXT =~ ([0-9]+)\ work\ outside ]] && ((BASH_REMATCH[1] > 150)); then
        ok "every_attempt_works_outside_(${BASH_REMATCH[1]})"
else
        not_ok every_attempt_works_outside "${TEXT: -300}"
fi

# Whoever can replace the link has the next call: then nothing runs.
for mode in $MODES; do
        fresh
        mkdir "$H/links"
        ln -s "$H/.local/bin/abatis-sh" "$H/links/abatis-sh"
        name=a_link_that_could_be_replaced_is_refused_by_name_$mode
        if ! enter "$mode" env ABATIS_PROFILE=guard ABATIS_WORKSPACE="$H/ws" "$H/.local/bin/abatis-sh" 'echo ran' || [[ $TEXT != ran ]]; then
                not_ok "$name" "the control failed: ${TEXT:0:300}"
        elif enter "$mode" env ABATIS_PROFILE=guard ABATIS_WORKSPACE="$H/ws" "$H/links/abatis-sh" 'echo ran' ||
                [[ $TEXT != *"'$H/links/abatis-sh' is a symbolic link that the command could replace"* ]]; then
                not_ok "$name" "${TEXT:0:300}"
        else
                ok "$name"
        fi
done

# What the next run would read is not made by this one, and no repository is, with hooks in it.
for mode in $MODES; do
        fresh
        rm -rf "$H/.config" "$H/.local/state" "$H/ws/.git" "$H/ws/.abatis.yaml"
        script="mkdir -p ~/.config/abatis ~/.local/state/abatis/trust; echo x >~/.config/abatis/policy.yaml; echo x >~/.local/state/abatis/trust/x; git init -q .; echo y >~/made"
        enter "$mode" env ABATIS_PROFILE=guard ABATIS_WORKSPACE="$H/ws" abatis-sh "$script"
        name=what_is_not_there_yet_is_not_made_$mode
        if [ ! -s "$H/made" ]; then
                not_ok "$name" "it did not run: ${TEXT:0:300}"
        elif [ -e "$H/.config/abatis" ] || [ -e "$H/.local/state/abatis/trust" ] || [ -e "$H/ws/.git" ]; then
                not_ok "$name" "it was made: ${TEXT:0:300}"
        else
                ok "$name"
        fi
        enter "$mode" sh -c "$script" && [ -s "$H/.config/abatis/policy.yaml" ] && [ -s "$H/.local/state/abatis/trust/x" ] && [ -d "$H/ws/.git" ]
        check "outside_it_is_made_$mode" $? "$TEXT"
done

for mode in $MODES; do
        for preset in dev tool mcp strict guard; do
                if [[ $preset == strict && $mode == none ]]; then
                        echo "skip strict_without_namespaces - refused by name there (test/bare)"
                        skipped=$((skipped + 1))
                        continue
                fi
                own="own git home"
                if [[ $preset == guard ]]; then
                        own=own
                        echo "skip abatis_run_keeps_the_home_with_guard_$mode - guard lets a whole agent write the home; abatis-sh does not"
                        skipped=$((skipped + 1))
                fi
                holds "abatis_run_keeps_its_own_files_with_${preset}_$mode" "$mode" "$own" abatis run --preset "$preset" -- sh -c
                holds "abatis_sh_keeps_all_with_${preset}_$mode" "$mode" "own git home starters absent" env ABATIS_PROFILE="$preset" \
                        ABATIS_WORKSPACE="$H/ws" abatis-sh
        done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
