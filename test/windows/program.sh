# shellcheck shell=bash disable=SC2154
# program.sh: abatis.exe by wine, which has no containers: what it says of policies, and that it refuses to run. Read by run.sh.

# What it says is in $scratch/said, with what it complains of in $scratch/stderr; its exit code in $code. $SECRET is a variable more.
abatis() { # WORD...
        as_user env ${SECRET:+"$SECRET"} wine ./abatis.exe "$@" >"$scratch/said.raw" 2>"$scratch/stderr.raw"
        code=$?
        tr -d '\r' <"$scratch/said.raw" >"$scratch/said"
        tr -d '\r' <"$scratch/stderr.raw" >"$scratch/stderr"
}

expect() { # NAME CODE TEXT: on either stream
        if [ "$code" -eq "$2" ] && cat "$scratch/said" "$scratch/stderr" | grep -q -F -e "$3"; then
                ok "$1"
        else
                not_ok "$1" "exit code $code: $(cat "$scratch/said" "$scratch/stderr" | head -n 3 | tr '\n' ' ')"
        fi
}

# Clauses but those that name a path, and steps.
skeleton() {
        sed -n '/^clauses$/,$p' | grep -v -E ' (/|@ROOT@)|^leftovers$' | sed 's/  *$//; /^$/d'
}

cp "$programs/$target/abatis.exe" "$scratch"
chmod 755 "$scratch/abatis.exe"
"${user[@]}" mkdir -m 700 "$scratch/a b ä" "$scratch/a b ä/Inner" "$scratch/bare"
printf 'version: 1\nextends: dev\nfilesystem:\n  deny: ["C:\\\\windows\\\\system.ini", "%s/a b ä/Inner"]\n' "Z:$scratch" >"$scratch/policy.yaml"
chown --reference="$scratch" "$scratch/policy.yaml"
chmod 600 "$scratch/policy.yaml"

abatis --version
expect the_program_says_its_version 0 "abatis "
abatis doctor
expect its_doctor_says_that_there_are_no_containers 1 "this Windows has no AppContainer"

for preset in dev tool mcp strict guard; do
        abatis explain --backend appcontainer --preset "$preset" --workspace "$(path bare)"
        expect "explain_${preset}_refuses_as_the_golden_plan_does" 125 \
                "$(grep '^abatis: ' "$here/../golden/plans/windows-7.appcontainer.$preset.txt")"
        abatis explain --backend none --preset "$preset" --workspace "$(path bare)"
        if [ "$code" -eq 0 ] && diff <(skeleton <"$scratch/said") <(skeleton <"$here/../golden/plans/windows-7.none.$preset.txt") >"$scratch/diff"; then
                ok "explain_${preset}_has_the_clauses_and_steps_of_the_golden_plan"
        else
                not_ok "explain_${preset}_has_the_clauses_and_steps_of_the_golden_plan" "$(head -n 3 "$scratch/diff" | tr '\n' ' ')"
        fi
done

# Refused, and nothing has run; the control is the same command without a sandbox.
mark=(cmd /c "echo x>marker")
abatis run --no-audit -- "${mark[@]}"
expect without_containers_run_refuses 125 "nothing on this machine can hold a sandbox"
abatis run --no-audit --backend appcontainer -- "${mark[@]}"
expect so_it_does_for_the_backend_by_name 125 "the backend appcontainer is not available"
abatis run --no-audit --best-effort --backend appcontainer -- "${mark[@]}"
expect best_effort_is_no_way_round_it 125 "the backend appcontainer is not available"
if [ ! -e "$scratch/marker" ]; then ok and_the_command_has_not_run; else not_ok and_the_command_has_not_run "its file is there"; fi
abatis run --no-audit --backend none -- "${mark[@]}"
if [ "$code" -eq 0 ] && [ -e "$scratch/marker" ]; then
        ok the_backend_none_runs_it
else
        not_ok the_backend_none_runs_it "exit code $code: $(cat "$scratch/stderr")"
fi
expect and_warns_that_nothing_is_enforced 0 "nothing is enforced"
abatis run --backend none -- cmd /c "exit 7"
expect an_exit_code_is_the_commands 7 "there is no audit log on Windows"
abatis run --no-audit --backend none -- cmd /c "echo hello"
expect output_comes_through 0 hello
abatis run --no-audit --backend none --json -- cmd /c "echo hello"
expect a_result_is_json 0 '"exit_code":0'
abatis run --no-audit --backend none -- no-such-program
expect a_program_that_is_not_there_is_not_found 127 "was not found in PATH"

SECRET=Api_Token=seen abatis run --no-audit --backend none -- cmd /c set
if [ "$code" -eq 0 ] && grep -q '^PATH=' "$scratch/said" && ! grep -q -i api_token "$scratch/said"; then
        ok a_secret_variable_is_left_out_in_any_letters
else
        not_ok a_secret_variable_is_left_out_in_any_letters "$(head -n 3 "$scratch/said")"
fi
SECRET=Plain_Word=seen abatis run --no-audit --backend none -- cmd /c set
expect and_another_is_not 0 PLAIN_WORD=seen

abatis run --no-such-flag -- cmd
expect a_wrong_flag_is_refused 125 "unknown flag '--no-such-flag'"
if [ "$(wc -l <"$scratch/stderr")" -eq 1 ] && [ ! -s "$scratch/said" ]; then ok in_one_line; else not_ok in_one_line "$(head -n 3 "$scratch/stderr")"; fi
abatis no-such-verb
expect so_is_a_wrong_verb 125 "unknown verb"
abatis run --backend none --audit-log 'C:\log.jsonl' -- cmd /c exit
expect a_log_that_is_wanted_is_refused_by_name 125 "there is no audit log on Windows"
abatis run --no-audit --backend none --pty -- cmd /c exit
expect a_terminal_is_refused_by_name 125 "not for Windows yet"

# Paths in the form of Windows, with what is no ASCII.
workspace=$(path "a b ä")
abatis check write "$workspace\\file" --workspace "$workspace" --preset tool
expect a_path_with_a_space_and_an_umlaut_is_known 0 "allowed"
abatis check write "$(path beside)" --workspace "$workspace" --preset tool
expect and_one_beside_it_is_not 1 "refused"
abatis policy show --workspace "Z:${scratch}/A B ä" --preset tool
expect it_is_spelled_as_the_disk_has_it 0 "a b ä\""
abatis check read "$workspace/INNER/x" --policy "$(path policy.yaml)" --workspace "$workspace"
expect a_denied_path_is_so_in_other_letters 1 "refused"
abatis check read 'c:\Windows\SYSTEM.INI' --policy "$(path policy.yaml)" --workspace "$workspace"
expect and_one_that_the_file_has_with_backslashes 1 "refused"
abatis check read 'C:\windows\win.ini' --policy "$(path policy.yaml)" --workspace "$workspace"
expect its_neighbour_is_not 0 "allowed"
