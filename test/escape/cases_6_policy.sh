# shellcheck shell=bash disable=SC2154,SC2034,SC2153,SC2016
# What the presets promise: secrets of the home directory, repositories, the agent's data, the system
# directories.

for secret in .ssh/id .aws/credentials .gnupg/key; do
        name=${secret%%/*}
        try "dev_does_not_read_home_${name#.}" outside leak read_open "$HOME/$secret"
done
SANDBOX=(--preset dev --workspace "$HOME")
try dev_does_not_read_the_keys_of_a_home_that_is_the_workspace outside leak read_open "$HOME/.ssh/id"
try dev_does_not_write_the_keys_of_a_home_that_is_the_workspace outside tree write_open "$HOME/.ssh/id"
try dev_does_not_rename_the_keys_of_a_home_that_is_the_workspace outside leak \
        read_renamed "$HOME/.ssh" "$HOME/way" "$HOME/way/id"
try dev_adds_no_authorized_key_in_a_home_that_is_the_workspace outside tree tree_create "$HOME/.ssh"
default_policy

# Keys that are kept elsewhere, with a link to them.
mv "$PASS_DIR/template/home/.ssh" "$PASS_DIR/template/home/keys"
ln -s keys "$PASS_DIR/template/home/.ssh"
try dev_does_not_read_keys_behind_a_symlink outside leak read_open "$HOME/.ssh/id"
try dev_does_not_read_the_target_of_a_symlinked_key_directory outside leak read_open "$HOME/keys/id"
rm "$PASS_DIR/template/home/.ssh"
mv "$PASS_DIR/template/home/keys" "$PASS_DIR/template/home/.ssh"

# A repository that has no hooks yet: nobody may give it some. Refusing to start is an answer as well.
mv "$PASS_DIR/template/ws/.git/hooks" "$PASS_DIR/hooks"
name=absent_git_hooks_are_not_planted_as_$PASS
SANDBOX=(--preset dev --workspace "$WS")
reset_tree
attempt_outside tree_plant "$WS/.git/hooks/pre-commit" "$WS/.git/hooks"
if ! seen_tree; then
        not_ok "$name" "the control failed: $(output_line)"
else
        reset_tree
        attempt_inside tree_plant "$WS/.git/hooks/pre-commit" "$WS/.git/hooks"
        if seen_tree; then not_ok "$name" "IT WORKED: the hook is there"; else ok "$name"; fi
fi
mv "$PASS_DIR/hooks" "$PASS_DIR/template/ws/.git/hooks"
default_policy

# Starts it in a process group of its own, and kills that or only its first process when the trap is laid.
lay_and_kill() { # REPOSITORY COMMAND...
        local i pid
        rm -f "$1/laid"
        (cd "$1" && exec setsid "${@:2}" >"$OUTPUT" 2>&1 </dev/null) &
        pid=$!
        for ((i = 0; i < 500; i++)); do
                [[ ! -e $1/laid ]] || break
                sleep 0.02
        done
        if [[ $TRAP_END == alone ]]; then kill -KILL "$pid"; else kill -KILL "-$pid"; fi
        wait "$pid" 2>/dev/null
        sleep 1 # as long as abatis says that it takes
        read_output
}

# What the command left must not run when the user calls git in the workspace: neither hooks nor a
# configuration of its
# own. Each trap is sprung outside, by a real git, first with the trap laid without a sandbox.
git_trap() { # NAME TRAP
        local name=$1_as_$PASS repository=$PASS_DIR/repository trap=$2 step laid
        # shellcheck disable=SC2053 # a pattern on purpose
        [[ $name == $PATTERN ]] || return 0
        CWD=$repository
        for step in control inside; do
                [[ ! -d $repository ]] || chmod -R u+rwx "$repository"
                rm -rf "$repository" "$PASS_DIR/sprung"
                mkdir "$repository"
                (
                        cd "$repository" || exit
                        git init -q .
                        git config core.hooksPath .githooks
                        git config extensions.worktreeConfig true
                        mkdir -p .git/hooks .githooks
                        git config user.name somebody
                        git config user.email somebody@example.org
                        echo content >file
                        git add file
                        git commit -q -m first
                ) >/dev/null 2>&1
                laid=(sh -c "$trap" trap "touch '$PASS_DIR/sprung'")
                [[ $step == control ]] || laid=("$ABATIS" run --workspace "$repository" -- "${laid[@]}")
                if [[ -n ${TRAP_END:-} ]]; then
                        lay_and_kill "$repository" "${laid[@]}"
                else
                        attempt "${laid[@]}"
                fi
                (cd "$repository" && git status && git commit --allow-empty -m second) >/dev/null 2>&1
                if [[ $step == control && ! -e $PASS_DIR/sprung ]]; then
                        not_ok "$name" "the control was not sprung: $(output_line)"
                        break
                elif [[ $step == inside && -e $PASS_DIR/sprung ]]; then
                        not_ok "$name" "IT WORKED: git ran it outside"
                elif [[ $step == inside ]]; then
                        ok "$name"
                fi
        done
        default_policy
}
if command -v git >/dev/null; then
        evil='printf "[core]\n\trepositoryformatversion = 0\n\tworktree = %s\n" "$PWD"
                printf "\tfsmonitor = \"%s; false\"\n" "$1"'
        # Each of these lays the same trap, and ends otherwise.
        elsewhere="mkdir evil; cp -r .git/objects .git/refs .git/HEAD evil; { $evil; } >evil/config; echo ../evil >evil/pointer"
        plant='cp evil/pointer .git/spare && mv -f .git/spare .git/commondir'
        git_trap git_finds_no_configuration_through_commondir "$elsewhere; $plant"
        git_trap git_finds_no_configuration_through_a_commondir_of_a_failure "$elsewhere; $plant; kill -9 \$\$"
        git_trap git_finds_no_configuration_through_a_symbolic_link "$elsewhere; ln -s ../evil/pointer .git/commondir"
        git_trap git_finds_no_configuration_through_a_hard_link "$elsewhere; ln evil/pointer .git/commondir"
        git_trap git_finds_no_configuration_through_a_renamed_file "$elsewhere; mv evil/pointer .git/commondir"
        git_trap git_finds_no_configuration_in_a_closed_repository "$elsewhere; $plant; chmod 555 .git"
        git_trap git_finds_no_configuration_in_a_repository_that_was_moved \
                "$elsewhere; mv .git away; $plant || cp evil/pointer away/commondir; mv away .git; $plant; true"
        git_trap git_finds_no_configuration_of_a_daemon "$elsewhere; $plant
                setsid sh -c 'while [ -d .git ] && [ ! -e \"\$1\" ]; do $plant; done' d '$PASS_DIR/sprung' >/dev/null 2>&1 &
                sleep 0.1"
        git_trap git_finds_no_configuration_of_a_worktree "{ $evil; } >.git/config.worktree"
        # Whoever kills abatis has its init end the tree first, and then clear up.
        TRAP_END=alone git_trap git_finds_no_configuration_after_abatis_was_killed "$elsewhere
                while [ ! -e '$PASS_DIR/sprung' ]; do $plant; touch laid; done"
        TRAP_END=group git_trap git_finds_no_configuration_after_its_group_was_killed "$elsewhere
                while [ ! -e '$PASS_DIR/sprung' ]; do $plant; touch laid; done"
        git_trap git_finds_no_repository_beside_a_broken_one \
                "rm .git/HEAD; mkdir objects refs; echo 'ref: refs/heads/main' >HEAD; { $evil; } >config"
        git_trap git_runs_no_hook_from_the_hooks_path_of_the_configuration \
                'printf "#!/bin/sh\n%s\n" "$1" >.githooks/pre-commit && chmod 755 .githooks/pre-commit'
        git_trap git_runs_no_new_hook 'printf "#!/bin/sh\n%s\n" "$1" >.git/hooks/pre-commit
                chmod 755 .git/hooks/pre-commit; git config --unset core.hooksPath'
fi

# tool and mcp: the nearest repository is denied, also above the workspace and behind a worktree's pointer.
for preset in tool mcp; do
        SANDBOX=(--preset "$preset" --workspace "$WS")
        try "${preset}_does_not_read_the_repository_of_the_workspace" outside leak read_open "$WS/.git/secret"
        SANDBOX=(--preset "$preset" --workspace "$WS/a/b")
        CWD=$WS/a/b
        try "${preset}_does_not_read_the_repository_above_the_workspace" outside leak read_open \
                "$WS/.git/secret"
        SANDBOX=(--preset "$preset" --workspace "$TREE/side")
        CWD=$TREE/side
        try "${preset}_does_not_read_the_pointer_of_a_worktree" outside none read_any "$TREE/side/.git"
        try "${preset}_does_not_replace_the_pointer_of_a_worktree" outside tree tree_replace \
                "$TREE/side/.git" "$TREE/side/new"
        try "${preset}_does_not_read_the_repository_of_a_worktree" outside leak read_open \
                "$TREE/main/.git/worktrees/side/secret"
        CWD=$WS
        SANDBOX=(--preset "$preset" --workspace "$WS" --data "$TREE/data")
        try "${preset}_does_not_read_the_data_of_the_agent" outside leak read_open "$TREE/data/secret"
done
SANDBOX=(--preset tool --workspace "$WS")
try tool_does_not_write_the_repository outside tree write_open "$WS/.git/config"
try tool_does_not_move_the_repository_away outside tree tree_rename "$WS/.git" "$WS/way"
SANDBOX=(--preset mcp --workspace "$WS")
try mcp_does_not_write_the_workspace outside tree write_open "$WS/protect/file"
try mcp_does_not_chmod_the_workspace outside tree chmod "$WS/protect/file"
SANDBOX=(--preset strict --workspace "$WS" --exec "$PROGRAMS")
try strict_does_not_read_beside_the_workspace outside leak read_open "$TREE/real/secret"
try strict_shows_no_status_beside_the_workspace outside leak read_stat_below "$TREE/real/secret"
try strict_does_not_read_the_home_directory outside leak read_open "$HOME/.ssh/id"
try strict_does_not_follow_a_symlink_out_of_the_workspace outside leak read_open "$WS/alias/secret"
try strict_does_not_write_beside_the_workspace outside tree write_open "$OUT/ro.txt"

# guard: all is allowed but the agent's own data and the system; every ancestor of those is writable.
SANDBOX=(--preset guard --workspace "$WS" --data "$TREE/data" --config "$TREE/conf/agent.toml")
for kept in data/data/secret data/config.toml conf/agent.toml; do
        name=${kept//[\/.]/_}
        try "guard_does_not_read_$name" outside leak read_open "$TREE/$kept"
        try "guard_does_not_write_$name" outside tree write_open "$TREE/$kept"
        try "guard_does_not_replace_$name" outside tree tree_replace "$TREE/$kept" "$WS/way"
        try "guard_does_not_link_$name" outside leak read_hard_link "$TREE/$kept" "$WS/way"
done
try guard_does_not_move_the_data_away outside leak read_renamed "$TREE/data/data" "$TREE/way" \
        "$TREE/way/secret"
try guard_does_not_move_the_parent_of_the_data_away outside leak read_renamed "$TREE/data" "$TREE/way" \
        "$TREE/way/data/secret"
try guard_does_not_move_the_grandparent_of_the_data_away outside leak \
        read_renamed "$TREE" "$PASS_DIR/way" "$PASS_DIR/way/data/data/secret"
try guard_does_not_exchange_the_parent_of_the_data outside leak \
        read_exchanged "$TREE/data" "$TREE/spare" "$TREE/spare/data/secret"
try guard_does_not_move_the_parent_of_the_configuration_away outside leak \
        read_renamed "$TREE/conf" "$TREE/way" "$TREE/way/agent.toml"
if [[ $PASS == root ]]; then
        for file in /etc/passwd /usr/bin/env /bin/sh /usr/lib/os-release /proc/sys/kernel/core_pattern; do
                "$ATTACK" open_for "$file" 1 2>/dev/null || continue
                try "guard_does_not_open_for_writing${file//[\/-]/_}" outside none open_for "$file" 1
        done
fi
default_policy

# A link that an earlier command left must not widen what a later rule opens.
ln -s ../out "$PASS_DIR/template/ws/cache"
MAY_REFUSE=yes
SANDBOX=(--preset dev --workspace "$WS" --write "$WS/cache")
try planted_symlink_does_not_widen_a_write_rule outside tree write_open "$OUT/ro.txt"
rm "$PASS_DIR/template/ws/cache"
# Nor may a forged .git pointer: it would make what it names part of the workspace.
mkdir -p "$PASS_DIR/template"/{hooks,worktrees/fake}
touch "$PASS_DIR/template/config"
echo "gitdir: fake" >"$PASS_DIR/template/worktrees/.git"
echo "$TREE/worktrees/.git" >"$PASS_DIR/template/worktrees/fake/gitdir"
SANDBOX=(--preset dev --workspace "$TREE/worktrees")
CWD=$TREE/worktrees
try forged_worktree_pointer_opens_nothing outside tree write_open "$OUT/ro.txt"
rm -r "$PASS_DIR/template"/{hooks,worktrees,config}
default_policy

# abatis itself may lie in the workspace; whoever replaces it is free at the next run.
cp "$ABATIS" "$PASS_DIR/template/ws/abatis"
real_abatis=$ABATIS
name=program_of_the_sandbox_is_not_replaced_as_$PASS
fresh_tree
before=$("$OUTSIDE" state "$WS/abatis")
attempt_outside tree_replace "$WS/abatis" "$WS/way"
after=$("$OUTSIDE" state "$WS/abatis")
fresh_tree
ABATIS=$WS/abatis
original=$("$OUTSIDE" state "$WS/abatis")
attempt_inside tree_replace "$WS/abatis" "$WS/way"
code=$?
if [[ $before == "$after" ]]; then
        not_ok "$name" "the control failed"
elif [[ $("$OUTSIDE" state "$WS/abatis") != "$original" ]]; then
        not_ok "$name" "IT WORKED: the program is another one now"
elif ((code == 1 || code == 125)); then
        ok "$name"
else
        not_ok "$name" "the attempt did not run: exit $code: $(output_line)"
fi
ABATIS=$real_abatis
rm "$PASS_DIR/template/ws/abatis"
default_policy

# The host's /tmp is not the command's.
HOST_TMP=$(mktemp -d /tmp/escape.XXXXXX)
echo TOP-SECRET >"$HOST_TMP/secret"
try host_tmp_is_not_read outside leak read_open "$HOST_TMP/secret"
try host_tmp_takes_no_new_name outside none tree_create "$HOST_TMP"
# A workspace down there is shown, and nothing beside it.
mkdir -p "$HOST_TMP"/ws/{a,b}
echo TOP-SECRET | tee "$HOST_TMP"/ws/{a,b}/deny.txt >"$HOST_TMP/ws/deny.txt"
CWD=$HOST_TMP/ws
WITHOUT=(--preset dev --workspace "$HOST_TMP/ws")
SANDBOX=(--preset dev --workspace "$HOST_TMP/ws" --deny "$HOST_TMP/ws/deny.txt" --deny
        "$HOST_TMP/ws/a/deny.txt")
try denied_file_of_a_workspace_in_tmp_is_not_read without_the_rule leak read_open "$HOST_TMP/ws/deny.txt"
try denied_file_of_a_workspace_in_tmp_is_not_read_through_a_hard_link without_the_rule leak \
        read_hard_link "$HOST_TMP/ws/deny.txt" "$HOST_TMP/ws/way"
rm -f "$HOST_TMP/ws/way"
try file_beside_a_workspace_in_tmp_is_not_read outside leak read_open "$HOST_TMP/secret"
CONTROL_ARGUMENTS=("$HOST_TMP/ws/b" "$HOST_TMP/ws/way" "$HOST_TMP/ws/way/deny.txt")
try denied_file_is_not_read_after_the_rename_of_its_parent_in_tmp outside leak \
        read_renamed "$HOST_TMP/ws/a" "$HOST_TMP/ws/c" "$HOST_TMP/ws/c/deny.txt"
rm -rf "$HOST_TMP"
default_policy

# The same tree, mounted a second time by the host: the denied file has two paths.
WRAP=("$OUTSIDE" second-mount "$WS" "$OUT/dir/empty" --)
try denied_file_is_not_read_through_a_second_mount_of_its_tree outside leak read_open \
        "$OUT/dir/empty/deny.txt"
default_policy

# While the command runs, somebody outside saves the file the way editors and git do: a new file, renamed over
# the old.
run_meanwhile() { # WHERE ATTEMPT KEPT-PATH SAVE...
        local where=$1 call=$2 path=$3 job
        shift 3
        fresh_tree
        "attempt_$where" "$call" "$WS/go" "$path" &
        job=$!
        wait_for "$WS/go.ready" || return
        "$@"
        BEFORE=$("$OUTSIDE" state "${KEPT[@]}")
        touch "$WS/go"
        wait "$job"
}
replaced_meanwhile() { # NAME EFFECT ATTEMPT KEPT-PATH SAVE...
        local name=$1_as_$PASS effect=$2 code
        shift 2
        # shellcheck disable=SC2053 # a pattern on purpose
        [[ $name == $PATTERN ]] || return 0
        if ! run_meanwhile without_the_rule "$@"; then
                read_output
                not_ok "$name" "the control failed: $(output_line)"
                return
        fi
        run_meanwhile inside "$@"
        code=$?
        read_output
        if ((code == 0)) || "seen_$effect"; then
                not_ok "$name" "IT WORKED: exit $code: $(output_line)"
        elif ((code == 1)) && [[ $TEXT == *"refused: "* ]] || was_ended_for_a_mask "$code"; then
                ok "$name"
        else
                not_ok "$name" "the attempt did not run: exit $code: $(output_line)"
        fi
}
save_file() { # FILE
        echo "TOP-SECRET, saved again" >"$1.new" && mv -f "$1.new" "$1"
        sleep 0.1 # a moment to put a mask back
}
save_often() { # FILE
        local i
        for ((i = 0; i < 30; i++)); do
                echo "TOP-SECRET, saved again" >"$1.new" && mv -f "$1.new" "$1"
                sleep 0.005
        done
}
save_anew() { # FILE
        rm "$1"
        sleep 0.05
        echo "TOP-SECRET, made again" >"$1"
        sleep 0.1
}
save_directory() { # DIRECTORY
        mv "$1" "$1.old" && mkdir "$1" && echo "TOP-SECRET, made again" >"$1/secret"
        sleep 0.1
}
for place in "$WS" "$OUT"; do
        where=the_workspace
        [[ $place == "$OUT" ]] && where=a_read_only_tree
        replaced_meanwhile "denied_file_of_${where}_saved_by_rename_outside_stays_denied" leak \
                read_when_told "$place/deny.txt" save_file "$place/deny.txt"
        replaced_meanwhile "denied_file_of_${where}_is_not_read_while_it_is_saved_outside" leak \
                read_until_told "$place/deny.txt" save_often "$place/deny.txt"
        replaced_meanwhile "denied_file_of_${where}_removed_and_made_again_outside_stays_denied" leak \
                read_when_told "$place/deny.txt" save_anew "$place/deny.txt"
        replaced_meanwhile "denied_directory_of_${where}_made_anew_outside_stays_denied" leak \
                read_when_told "$place/deny/secret" save_directory "$place/deny"
done
replaced_meanwhile protected_file_saved_by_rename_outside_stays_protected tree \
        write_when_told "$WS/protected.txt" save_file "$WS/protected.txt"
replaced_meanwhile protected_file_removed_and_made_again_outside_stays_protected tree \
        write_when_told "$WS/protected.txt" save_anew "$WS/protected.txt"
SANDBOX+=(--deny "$OUT/later")
replaced_meanwhile absent_denied_file_made_outside_stays_denied leak read_when_told "$OUT/later" save_file \
        "$OUT/later"
default_policy

# The writer's race is judged by what it says: the file changes all the time anyway.
replaced_meanwhile protected_file_is_not_written_while_it_is_saved_outside none \
        write_until_told "$WS/protected.txt" save_often "$WS/protected.txt"
