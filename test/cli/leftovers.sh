#!/bin/bash
# leftovers.sh: what would lead git to other programs is not left behind by a command, and what git itself leaves is.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016 # the sandboxed shell expands, not this one
. "$(dirname "$0")/lib.sh"

repository() { # [DIR]
        needs git
        git init -q "${1:-$W}"
        git -C "${1:-$W}" commit -q --allow-empty -m first
}

aside() { # NAME [DIR]: its one new name
        local found=("${2:-$W/.git}/$1".abatis-*)
        [[ ${#found[@]} == 1 && (-e ${found[0]} || -L ${found[0]}) ]] || fail "$1 is not aside: ${found[*]}"
        echo "${found[0]}"
}

absent() { # PATH...
        local path
        for path; do
                [ ! -e "$path" ] && [ ! -L "$path" ] || fail "$path is still there"
        done
}

test_a_new_commondir_is_moved_aside_and_told() {
        local kept
        repository
        exits 3 sandbox sh -c 'echo /elsewhere >.git/commondir; exit 3'
        absent .git/commondir
        kept=$(aside commondir)
        [ "$(<"$kept")" = /elsewhere ] || fail "it is not what it was"
        [ "$(<"$T/err")" = "abatis: warning: git would take its configuration from the new '$W/.git/commondir'; it is '$kept' now" ] ||
                fail "said: $(said)"
}

test_the_object_and_the_log_tell_it() {
        local kept
        repository
        export XDG_STATE_HOME=$T/state
        succeeds "$ABATIS" run --json -- sh -c 'echo /elsewhere >.git/commondir'
        kept=$(aside commondir)
        json_is "$T/out" "r['set_aside'] == [{'path': '$W/.git/commondir', 'kept_as': '$kept'}]"
        json_is "$T/out" 'r["exit_code"] == 0'
        tail -n 1 "$T/state/abatis/audit.jsonl" >"$T/record"
        json_is "$T/record" "r['event'] == 'finished' and r['set_aside'] == ['$kept']"
        rm "$kept"
        succeeds "$ABATIS" run --json -- sh -c 'echo new >.git/file'
        json_is "$T/out" '"set_aside" not in r'
        tail -n 1 "$T/state/abatis/audit.jsonl" >"$T/record"
        json_is "$T/record" '"set_aside" not in r'
}

test_whatever_it_is_it_is_moved_aside() {
        local plant
        repository
        echo secret >"$T/outside"
        for plant in 'mkdir -p .git/commondir/a/b; chmod 0 .git/commondir/a .git/commondir' 'mkfifo .git/commondir' \
                "ln -s '$T/outside' .git/commondir" 'ln -s nowhere .git/commondir' 'ln .git/HEAD .git/commondir' \
                'echo a >.git/commondir; chmod 0 .git/commondir' 'echo a >.git/commondir; chmod 555 .git' \
                'echo a >.git/commondir; chmod 0 .git' 'chmod 0 .git'; do
                succeeds sandbox sh -c "$plant"
                chmod 755 .git
                absent .git/commondir
                [ "$plant" = 'chmod 0 .git' ] || aside commondir >/dev/null
                chmod -R u+rwx .git
                rm -rf .git/commondir.abatis-*
        done
        [ "$(<"$T/outside")" = secret ] || fail "a link was followed"
}

test_the_mode_of_the_repository_stays_the_command_s() {
        repository
        succeeds sandbox sh -c 'echo a >.git/commondir; chmod 510 .git'
        [ "$(stat -c %a .git)" = 510 ] || fail "it is $(stat -c %a .git)"
        absent .git/commondir
}

test_what_was_there_is_protected_and_stays() {
        local before
        repository
        echo . >.git/commondir
        echo >.git/config.worktree
        control sh -c 'echo x >>.git/commondir; rm .git/commondir; echo x >>.git/config.worktree'
        echo . >.git/commondir
        before=$(listing .git)
        is_refused sandbox sh -c 'echo x >>.git/commondir'
        is_refused sandbox rm -f .git/commondir
        is_refused sandbox sh -c 'echo x >>.git/config.worktree'
        [ "$(listing .git)" = "$before" ] || fail "$(diff <(echo "$before") <(listing .git) | head -n 3)"
        [ ! -s "$T/err" ] || ! grep -q 'configuration from' "$T/err" || fail "said: $(said)"
}

# The first command's file is there when the second begins, and is moved aside while that one runs.
test_a_second_command_does_not_put_it_back() {
        repository
        "$ABATIS" run -- sh -c 'echo /elsewhere >.git/commondir; touch first; while [ ! -e second ]; do sleep 0.02; done' 2>/dev/null &
        eventually [ -e first ] || fail "the first did not begin"
        "$ABATIS" run -- sh -c 'touch second
                while [ -e .git/commondir ]; do sleep 0.02; done; echo /again >.git/commondir; touch ended' 2>"$T/err" &
        wait
        [ -e ended ] || may_be_refused
        [ -e ended ] || fail "the second has not seen the end of the first: $(said)"
        absent .git/commondir
}

test_git_works_inside_and_leaves_what_it_should() {
        repository
        succeeds sandbox sh -ec 'echo a >file; git add file; git commit -qm second; git tag one; git branch other; git gc -q
                git switch -q other; git worktree add -q tree; cd tree; echo b >file; git commit -qam third'
        [ ! -s "$T/err" ] || fail "said: $(said)"
        [ "$(git -C tree log --format=%s)" = $'third\nsecond\nfirst' ] || fail "$(git -C tree log --format=%s)"
        [ -e .git/worktrees/tree/commondir ] || fail "the worktree has none"
        succeeds sandbox sh -ec 'git init -q new; git -C new commit -q --allow-empty -m first'
        git -C new log --format=%s >/dev/null || fail "no repository was made"
}

test_a_worktree_keeps_no_configuration_of_the_command_s() {
        repository "$T/main"
        git -C "$T/main" worktree add -q "$W/tree"
        cd tree || fail "no worktree"
        succeeds sandbox sh -c "echo a >'$T/main/.git/commondir'; echo a >'$T/main/.git/worktrees/tree/config.worktree'; git commit -q --allow-empty -m second"
        absent "$T/main/.git/commondir" "$T/main/.git/worktrees/tree/config.worktree"
        aside commondir "$T/main/.git" >/dev/null
        aside config.worktree "$T/main/.git/worktrees/tree" >/dev/null
        [ "$(git log -1 --format=%s)" = second ] || fail "no commit"
}

test_nothing_is_moved_where_nothing_is_enforced() {
        repository
        succeeds "$ABATIS" run --backend none -- sh -c 'echo . >.git/commondir'
        [ -e .git/commondir ] || fail "it is gone"
}

test_explain_says_what_is_not_held() {
        repository
        succeeds "$ABATIS" explain
        grep -qF "  $W/.git/commondir: if it is new when the command has ended, it is moved aside" "$T/out" || fail "$(<"$T/out")"
        grep -qF '  not held: while the command runs, git outside could meet it there' "$T/out" || fail "$(<"$T/out")"
        succeeds "$ABATIS" explain --protect "$W/.git"
        ! grep -q '^leftovers' "$T/out" || fail "it could not be made"
}

# A directory that only others may change, as root's immutable one: what cannot be moved is told, and is no result.
test_what_cannot_be_moved_aside_is_a_failure() {
        is_root || skip "needs root to make a directory immutable"
        repository
        needs chattr
        touch "$W/probe" && chattr +i "$W/probe" 2>/dev/null || skip "this file system has no immutable files"
        chattr -i "$W/probe"
        (
                eventually [ -e "$W/.git/commondir" ] && chattr +a "$W/.git"
                touch "$W/fixed"
        ) &
        capture sandbox sh -c 'echo a >.git/commondir; while [ ! -e fixed ]; do sleep 0.02; done'
        wait
        chattr -a "$W/.git"
        [ "$RC" = 123 ] || fail "exit code $RC: $(said)"
        [ "$(<"$T/err")" = "abatis: '$W/.git/commondir' may lead git to programs of the command's, and cannot be moved aside; remove it before git is used there: Operation not permitted" ] ||
                fail "said: $(said)"
}

main "$@"
