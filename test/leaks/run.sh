#!/bin/bash
# run.sh: the ways a run can end, each under LeakSanitizer: what valgrind cannot follow because of clone3.
#
#   BUILD=build-sanitize test/leaks/run.sh        (a build with -Db_sanitize=address)
set -u
cd "$(dirname "$0")/../.." || exit 1
ABATIS=${ABATIS:-${BUILD:-build-sanitize}/abatis}
case $ABATIS in /*) ;; *) ABATIS=$PWD/$ABATIS ;; esac
scratch=$(mktemp -d /var/tmp/abatis-leaks.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0
export ASAN_OPTIONS=detect_leaks=1:exitcode=99

leaks_nothing() { # NAME EXPECTED-EXIT ARGUMENT...
        local name=$1 expected=$2 code
        shift 2
        "$ABATIS" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
        code=$?
        if [ $code = "$expected" ] && ! grep -q Sanitizer "$scratch/err"; then
                echo "ok $name"
                passed=$((passed + 1))
        else
                echo "not ok $name - exit $code: $(grep -m1 -E 'Sanitizer|abatis:' "$scratch/err")"
                failed=$((failed + 1))
        fi
}

answers_without_leaks() { # NAME VERB LINE...: they are its stdin
        local name=$1 verb=$2
        shift 2
        if printf '%s\n' "$@" | (cd "$scratch/ws" && "$ABATIS" "$verb") >"$scratch/out" 2>"$scratch/err" && [ -s "$scratch/out" ] && ! grep -q Sanitizer "$scratch/err"; then
                echo "ok $name"
                passed=$((passed + 1))
        else
                echo "not ok $name - $(grep -m1 -E 'Sanitizer|abatis:' "$scratch/err")"
                failed=$((failed + 1))
        fi
}

mkdir "$scratch/ws"
at=(run --workspace "$scratch/ws")
nm "$ABATIS" 2>/dev/null | grep -q __asan_init || { echo "not ok build_has_the_sanitizer - $ABATIS has not"; failed=1; }
leaks_nothing a_run_leaks_nothing 0 "${at[@]}" -- true
leaks_nothing a_failing_command_leaks_nothing 3 "${at[@]}" -- sh -c 'exit 3'
leaks_nothing captured_output_leaks_nothing 0 "${at[@]}" --json -- seq 20000
leaks_nothing passed_on_output_leaks_nothing 0 "${at[@]}" --max-output 100 -- seq 20000
leaks_nothing a_timeout_leaks_nothing 124 "${at[@]}" --timeout 200ms -- sleep 9
leaks_nothing a_counted_tree_leaks_nothing 0 "${at[@]}" --memory 4GiB --cpu 20s --written 1GiB -- sh -c 'sleep 0.2 & sleep 0.1; wait'
leaks_nothing a_limit_that_is_reached_leaks_nothing 137 "${at[@]}" --cpu 200ms -- sh -c 'while :; do :; done'
leaks_nothing a_missing_program_leaks_nothing 127 "${at[@]}" -- ./missing
leaks_nothing a_program_that_is_none_leaks_nothing 126 "${at[@]}" -- /etc/passwd
leaks_nothing less_than_was_prepared_leaks_nothing 0 "${at[@]}" --best-effort --net allow --unix /run/some.sock -- true
leaks_nothing a_refused_clause_leaks_nothing 125 "${at[@]}" --net allow --unix /run/some.sock -- true
leaks_nothing a_list_of_sockets_leaks_nothing 0 "${at[@]}" --unix /run/some.sock -- true
leaks_nothing a_list_of_hosts_leaks_nothing 0 "${at[@]}" --connect example.org:443 -- true
leaks_nothing a_bad_rule_leaks_nothing 125 "${at[@]}" --deny relative -- true
leaks_nothing an_avoided_path_leaks_nothing 0 "${at[@]}" --deny "$scratch/later" -- true
leaks_nothing a_new_root_leaks_nothing 0 run --preset strict --workspace "$scratch/ws" -- true
printf '#!/usr/bin/env sh\nexit 4\n' >"$scratch/ws/script"
chmod 755 "$scratch/ws/script"
ln "$scratch/ws/script" "$scratch/ws/other-name"
listed=("${at[@]}" --command "$scratch/ws/script" --command true)
leaks_nothing a_list_of_commands_leaks_nothing 4 "${listed[@]}" -- "$scratch/ws/script"
leaks_nothing an_unlisted_command_leaks_nothing 126 "${listed[@]}" -- ls
leaks_nothing a_bad_list_leaks_nothing 125 "${listed[@]}" --command no-such-program -- true
leaks_nothing a_refused_argument_leaks_nothing 125 "${listed[@]}" --deny "$scratch/later" -- true "$scratch/later/x"
leaks_nothing explain_of_a_list_leaks_nothing 0 explain --workspace "$scratch/ws" --command true --json
leaks_nothing explain_leaks_nothing 0 explain --workspace "$scratch/ws" --json
leaks_nothing doctor_leaks_nothing 0 doctor
answers_without_leaks a_server_leaks_nothing serve '{"id":1,"method":"run","command":["cat"],"env":{"A":"b"},"stdin_base64":"AAAA"}' \
        '{"id":2,"method":"run","command":["seq","3"],"stream":true}' '{"id":3,"method":"run","command":["true"],"session":"a"}' \
        '{"id":4,"method":"run","command":["no-such-program"]}' '{"id":5,"method":"run","command":["true"],"policy":{"x":1}}' \
        '{"id":6,"method":"run","comand":1}' '{"id":7,' '{"id":8,"method":"explain","tier":"x"}' '{"id":9,"method":"probe"}' \
        '{"id":10,"method":"check","access":"read","path":"/"}' '{"id":11,"method":"cancel","target":1}' '{"id":12,"method":"skill","skill":"x"}'
call() { # ARGUMENTS-OF-A-TOOL TOOL ID
        printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s,"_meta":{"progressToken":%s}}}\n' "$3" "$2" "$1" "$3"
}
new='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
mapfile -t calls < <(
        call '{"command":["cat"],"stdin":"x","cwd":"."}' run_command 1
        call '{"script":"echo x; exit 3","args":["a"],"timeout_ms":9000}' run_script 2
        call '{"path":"file","content_base64":"AP8="}' write_file 3
        call '{"path":"script","offset":1,"limit":3}' read_file 4
        call '{"path":"absent"}' read_file 5
        call '{"path":"."}' list_directory 6
        call '{"access":"read","path":"script"}' check_path 7
        call '{}' explain_policy 8
        call '{"skill":"x"}' run_skill 9
        call '{"comand":1}' run_command 10
        call '[]' run_command 11
        call '{}' nothing 12
        call '{"command":["no-such-program"]}' run_command 13
        call '{"command":["sleep","9"]}' run_command '"14"'
        call '{"command":["true"]}' run_command '"14"'
)
answers_without_leaks a_server_of_mcp_leaks_nothing mcp '{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25"}}' \
        '{"jsonrpc":"2.0","id":"b","method":"server/discover","params":{'"$new"'}}' '{"jsonrpc":"2.0","id":"c","method":"tools/list","params":{'"$new"'}}' \
        '{"jsonrpc":"2.0","id":"d","method":"tools/list","params":{'"${new/2026/2099}"'}}' '{"jsonrpc":"2.0","method":"x","params":{'"${new/2026/2099}"'}}' \
        '{"jsonrpc":"2.0","id":null,"error":{}}' '{"jsonrpc":"2.0","id":"e","method":"ping"}' '[]' '{' "${calls[@]}" \
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"14"}}'
answers_without_leaks a_request_leaks_nothing exec-request '{"program":"cat","input":{"a":1}}'
answers_without_leaks a_request_that_is_none_leaks_nothing exec-request '{"program":"cat","input":{"a":1},"x":2}'
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
