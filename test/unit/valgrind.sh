#!/bin/bash
# valgrind.sh: no leak and no invalid access in the verbs that run nothing, on bad input, and in the cmocka tests.
#
#   test/unit/valgrind.sh [BUILD-DIRECTORY]       (default: $BUILD, or build; built without sanitizers)
#
# valgrind has no way to clone as `abatis run` does, and newer ones end there, so policies are refused by `explain`; what
# lies behind a clone is covered by the leak checker of a build with AddressSanitizer.
set -u
here=$(cd "$(dirname "$0")" && pwd)
readonly here
build=${1:-${BUILD:-$here/../../build}}

passed=0 failed=0 skipped=0
scratch=$(mktemp -d /var/tmp/abatis-valgrind.XXXXXX) || exit 1
trap 'rm -rf "$scratch"' EXIT
finish() {
        wait
        if [ -d "$scratch/said" ]; then
                cat "$scratch"/said/*
                passed=$((passed + $(cat "$scratch"/said/* | grep -c '^ok ')))
                failed=$((failed + $(cat "$scratch"/said/* | grep -c '^not ok ')))
        fi
        echo "$passed passed, $failed failed, $skipped skipped"
        [ "$failed" -eq 0 ]
}

command -v valgrind >/dev/null || {
        echo "skip valgrind_finds_nothing - valgrind is not installed"
        skipped=1
        finish
        exit
}
if grep -q -- '-fsanitize=' "$build/build.ninja"; then
        echo "skip valgrind_finds_nothing - the build has sanitizers, which find the same"
        skipped=1
        finish
        exit
fi

# The command is linked statically, where valgrind can see neither malloc nor strlen: the same sources, linked anew.
BUILD="$build" "$here/../build.sh" >/dev/null || exit 1
abatis=$scratch/abatis
root=$here/../..
mapfile -t sources < <(printf '%s\n' "$root"/src/{cli,server,agents}/*.c | grep -v -E '_(darwin|windows)\.c$')
"${CC:-cc}" -g -O1 -std=gnu11 -I"$root/include" -I"$root/src" -o "$abatis" "${sources[@]}" "$build/libcore.a" -ljansson -lyaml || {
        echo "not ok valgrind_has_a_program - it does not link"
        failed=1
        finish
        exit
}
mkdir "$scratch/tests"
for binary in "$build"/test/unit/test-*; do
        [ ! -f "$binary" ] || cp "$binary" "$scratch/tests"
done
# An older valgrind stumbles over the debug information of a newer compiler; it needs none to find errors.
if ! valgrind --quiet "$abatis" --version >/dev/null 2>&1; then
        strip -g "$abatis" "$scratch"/tests/*
fi

judge() { # NAME EXPECTED-EXIT COMMAND...: says "not ok" of any error or leak that valgrind finds, and where it found no end
        local name=$1 expected=$2 status own
        shift 2
        own=$(mktemp -d "$scratch/judge.XXXXXX")
        # A child that was made to try something exits without freeing what it shares with its parent. The log goes through
        # a pipe: a test that limits the size of files would otherwise end valgrind at its next line.
        valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=all \
                --error-exitcode=99 --child-silent-after-fork=yes --log-fd=9 \
                "$@" 9>&1 >"$own/out" 2>"$own/err" </dev/null | cat >"$own/log"
        status=${PIPESTATUS[0]}
        if [ "$status" -eq 99 ]; then
                echo "not ok $name - $(grep -v '^--' "$own/log" | head -n 12 | sed 's/^==[0-9]*== *//' | tr '\n' ';')"
        elif [ "$status" -gt 128 ]; then
                echo "not ok $name - valgrind was ended by signal $((status - 128)) before it could judge"
        elif [ "$expected" != any ] && [ "$status" -ne "$expected" ]; then
                echo "not ok $name - exit code $status instead of $expected: $(head -c 300 "$own/err" | tr '\n' ' ')"
        else
                echo "ok $name"
        fi
}

# As many at once as there are processors: none has to do with another. finish() prints what they said, in order.
number=0
at_once=$(getconf _NPROCESSORS_ONLN)
mkdir "$scratch/said"
clean() { # the same
        while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do
                wait -n
        done
        number=$((number + 1))
        judge "$@" >"$scratch/said/$(printf %04d $number)" &
}

# It must see what there is to see, or all the rest proves nothing.
printf '#include <stdlib.h>\nint main(void) { return !malloc(7); }\n' >"$scratch/leak.c"
"${CC:-cc}" -O0 -o "$scratch/leak" "$scratch/leak.c"
if judge planted_leak any "$scratch/leak" | grep -q '^not ok planted_leak'; then
        echo "ok valgrind_finds_a_planted_leak"
        passed=1
else
        echo "not ok valgrind_finds_a_planted_leak - it did not"
        failed=1
fi

export HOME=$scratch/home
ws=$scratch/ws
mkdir -p "$HOME/.ssh" "$HOME/.aws" "$ws/sub/deep" "$scratch/data/data" "$ws/.git/hooks"
touch "$HOME/.netrc" "$ws/sub/deep/secret" "$scratch/data/config.toml" "$scratch/config.toml" "$ws/.git/config"
ln -s "$ws/sub" "$scratch/link"
ln -s loop "$scratch/loop"
cd "$ws" || exit 1

for preset in dev tool mcp strict guard; do
        clean "explain_${preset}_is_clean" any "$abatis" explain --preset $preset --data "$scratch/data" \
                --config "$scratch/config.toml" -- true
        clean "check_${preset}_is_clean" any "$abatis" check write "$scratch/link/deep/secret" --preset $preset
done
clean explain_json_is_clean any "$abatis" explain --json --deny "$ws/sub/deep/secret" --protect "$ws/sub" \
        --read "$scratch/link" --env CI=1 --timeout 1s --open-files 9 -- true
clean explain_best_effort_is_clean 0 "$abatis" explain --best-effort --memory 1M --cpu 1s --net list --bind 1 \
        --connect a:1 --unix /x --command sh --processes 3 -- true
clean explain_refused_clause_is_clean 125 "$abatis" explain --memory 1M -- true
clean check_denied_is_clean 1 "$abatis" check read "$HOME/.ssh/id"
clean check_relative_is_clean 1 "$abatis" check read relative
clean doctor_is_clean any "$abatis" doctor
clean doctor_json_is_clean any "$abatis" doctor --json
clean help_is_clean 0 "$abatis" --help
clean help_of_run_is_clean 0 "$abatis" run --help
clean version_is_clean 0 "$abatis" --version

clean no_verb_is_clean 125 "$abatis"
clean unknown_verb_is_clean 125 "$abatis" fly
clean unknown_flag_is_clean 125 "$abatis" run --wrokspace / -- true
clean unknown_flag_after_others_is_clean 125 "$abatis" run --deny /a --deny /b --nope -- true
clean missing_value_is_clean 125 "$abatis" run --deny
clean no_program_is_clean 125 "$abatis" run --deny "$ws/sub" --
clean unknown_preset_is_clean 125 "$abatis" explain --preset nope -- true
clean missing_workspace_is_clean 125 "$abatis" explain --workspace "$scratch/no" -- true
clean missing_data_is_clean 125 "$abatis" explain --data "$scratch/no" -- true
clean missing_config_is_clean 125 "$abatis" explain --config "$scratch/no" -- true
clean relative_rule_is_clean 125 "$abatis" explain --deny relative -- true
clean climbing_rule_is_clean 125 "$abatis" explain --deny /a/../b -- true
clean newline_in_rule_is_clean any "$abatis" explain --deny $'/a\nb' -- true
clean looping_rule_is_clean 125 "$abatis" explain --deny "$scratch/loop" -- true
clean absent_write_rule_is_clean 125 "$abatis" explain --write "$scratch/no" -- true
clean absent_deny_inside_is_clean 125 "$abatis" explain --deny "$ws/later" -- true
clean denied_workspace_is_clean 125 "$abatis" explain --deny "$ws" -- true
clean explain_pattern_is_clean 0 "$abatis" explain --best-effort --deny-glob '**/.env' --deny-glob "$scratch/link/*" -- true
clean check_pattern_is_clean 1 "$abatis" check read "$ws/.env" --deny-glob '**/.env'
clean bad_pattern_is_clean 125 "$abatis" explain --deny-glob '/[a' -- true
clean refused_pattern_is_clean 125 "$abatis" explain --deny-glob '**/.env' -- true
clean bad_number_is_clean 125 "$abatis" explain --timeout 99999999999999999999s -- true
clean bad_network_is_clean 125 "$abatis" explain --net open -- true
clean bad_environment_is_clean 125 "$abatis" explain --env = -- true
clean bad_result_fd_is_clean 125 "$abatis" run --result-fd 77 -- true
clean clause_not_in_this_version_is_clean 125 "$abatis" explain --memory 1G -- true

python3 "$here/../cli/audit.py" "$scratch/audit.jsonl" hostile
for words in list "list --json" "show 1234567a" stats "stats --json" "report -o /dev/null"; do
        # shellcheck disable=SC2086 # words
        clean "audit_${words//[^a-z0-9]/_}_is_clean" 0 "$abatis" audit $words --file "$scratch/audit.jsonl"
done
clean audit_verify_is_clean 0 "$abatis" audit verify "$scratch/audit.jsonl"
clean audit_without_log_is_clean 125 "$abatis" audit list --file "$scratch/no.jsonl"
clean audit_of_rubbish_is_clean 0 "$abatis" audit list --file "$abatis"
clean audit_of_unknown_verdict_is_clean 125 "$abatis" audit list --verdict no --file "$scratch/audit.jsonl"

for binary in "$scratch"/tests/test-*; do
        [ -f "$binary" ] || continue
        GOLDEN_DIR=$here/../golden clean "$(basename "$binary" | tr - _)_is_clean" any "$binary"
done
finish
