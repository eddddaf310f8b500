#!/bin/bash
# presets.sh: what each preset, and each flag that changes one, lets a command read, write, run and connect to.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016 # the sandboxed shell expands, not this one
. "$(dirname "$0")/lib.sh"

# A directory with a neighbour, an agent's data directory and a home that holds secrets.
make_world() {
        mkdir -p "$T/other" "$T/data/data" "$T/data/skills" "$T/home/.ssh" "$T/home/.gnupg" "$T/home/.aws" \
                "$T/home/.config/gcloud" "$T/home/.config/google-chrome/Default" "$T/home/.mozilla/firefox" \
                "$T/home/.claude" "$T/home/.codex" "$T/home/.kube" "$T/home/project"
        for file in other/file data/file data/data/file data/config.toml data/skills/file home/.ssh/id_ed25519 \
                home/.gnupg/key home/.aws/credentials home/.config/gcloud/credentials.db \
                home/.config/google-chrome/Default/Cookies home/.mozilla/firefox/logins.json home/.codex/auth.json \
                home/.claude/.credentials.json home/.kube/config home/.netrc home/.git-credentials home/notes \
                home/.bashrc home/project/file; do
                echo content >"$T/$file"
        done
        echo content >file
        export HOME=$T/home
}

SECRETS=(.ssh/id_ed25519 .gnupg/key .aws/credentials .config/gcloud/credentials.db .codex/auth.json .netrc
        .config/google-chrome/Default/Cookies .mozilla/firefox/logins.json .claude/.credentials.json .kube/config
        .git-credentials)

secrets() { # KIND DIR: the probes for all secrets below a home
        local secret
        for secret in "${SECRETS[@]}"; do echo "$1:$2/$secret"; done
}

repository() { # DIR
        git init -q "$1"
        git -C "$1" commit -q --allow-empty -m first
}

# ---- dev -------------------------------------------------------------------------------------------------

test_dev_is_the_default() {
        make_world
        for flags in '' '--preset dev'; do
                # shellcheck disable=SC2206 # two words
                FLAGS=($flags)
                allows read:/etc/passwd read:"$T/other/file" read:"$W/file" write:"$W/file" create:"$W/new" \
                        connect:pair execute:/bin/true -- \
                        write:"$T/other/file" create:"$T/other/new" connect:inet connect:inet6 connect:unix \
                        read:"$T/home/.ssh/id_ed25519"
        done
        succeeds "$ABATIS" explain --json -- true
        json_is "$T/out" 'r["preset"] == "dev"'
}

test_dev_denies_the_secrets_of_home() {
        make_world
        mapfile -t denied < <(
                secrets read "$HOME"
                secrets write "$HOME"
                secrets stat "$HOME" | grep / | grep -v netrc | grep -v git-credentials
        )
        allows read:"$HOME/notes" read:"$HOME/.bashrc" read:"$HOME/project/file" -- "${denied[@]}"
}

test_dev_denies_the_secrets_when_the_workspace_is_the_home() {
        make_world
        cd "$HOME" || fail "no home"
        mapfile -t denied < <(
                secrets read "$HOME"
                secrets write "$HOME"
        )
        allows write:"$HOME/notes" create:"$HOME/new" -- "${denied[@]}" create:"$HOME/.ssh/new"
        is_refused sandbox mv .ssh moved
        is_refused sandbox mv .config moved
        is_refused sandbox rm -rf .aws
        control mv .ssh moved
        control mv .config moved-too
        control rm -rf .aws
}

test_dev_denies_a_secret_behind_a_symbolic_link() {
        make_world
        mv "$HOME/.aws" "$T/cloud"
        ln -s "$T/cloud" "$HOME/.aws"
        allows read:"$HOME/notes" -- read:"$HOME/.aws/credentials" read:"$T/cloud/credentials"
}

test_dev_denies_the_secrets_of_the_accounts_home_too() {
        is_root || skip "needs root for an /etc/passwd of its own; the root role asks for both uids"
        make_world
        mkdir -p "$T/account/.ssh"
        echo content >"$T/account/.ssh/key"
        echo content >"$T/account/notes"
        (
                sed '/^root:/d' /etc/passwd
                echo "root:x:0:0::$T/account:/bin/sh"
                echo "someone:x:$TEST_UID:$TEST_UID::$T/account:/bin/sh"
        ) >"$T/passwd"
        cat >"$T/inside" <<'END'
mount --bind "$T/passwd" /etc/passwd
for who in 0 4343; do
        XDG_STATE_HOME=$T/state.$who
        install -d -o $who "$XDG_STATE_HOME"
        export XDG_STATE_HOME
        setpriv --reuid=$who --regid=$who --clear-groups "$ABATIS" run --workspace "$W" -- sh -c "
                cat $T/account/notes >/dev/null || exit 1
                cat $T/account/.ssh/key 2>/dev/null && exit 2
                cat $HOME/.ssh/id_ed25519 2>/dev/null && exit 3
                exit 0" || exit
done
END
        chmod -R a+rwX "$T"
        export T W ABATIS
        succeeds unshare -m bash "$T/inside"
        control setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups cat "$T/account/.ssh/key"
}

test_dev_protects_hooks_and_config_of_the_repository() {
        repository "$W"
        echo hook >.git/hooks/pre-push
        allows read:"$W/.git/config" read:"$W/.git/hooks/pre-push" write:"$W/.git/HEAD" create:"$W/.git/new" -- \
                write:"$W/.git/config" write:"$W/.git/hooks/pre-push" create:"$W/.git/hooks/new" create:"$W/.git/hooks/pre-commit"
}

test_dev_opens_the_repository_of_a_worktree_but_not_its_hooks() {
        repository "$T/main"
        echo hook >"$T/main/.git/hooks/pre-push"
        git -C "$T/main" worktree add -q "$T/tree"
        cd "$T/tree" || fail "no worktree"
        allows create:"$T/main/.git/objects/new" read:"$T/tree/.git" read:"$T/main/.git/config" -- \
                write:"$T/main/.git/config" write:"$T/main/.git/hooks/pre-push" create:"$T/main/.git/hooks/new" \
                write:"$T/tree/.git" create:"$T/main/new"
}

test_dev_is_not_fooled_by_a_forged_worktree_pointer() {
        repository "$T/victim"
        mkdir -p "$T/victim/.git/worktrees/ws"
        echo "gitdir: $T/victim/.git/worktrees/ws" >.git
        echo "$T/elsewhere/.git" >"$T/victim/.git/worktrees/ws/gitdir"
        allows read:"$T/victim/.git/HEAD" create:"$W/new" -- create:"$T/victim/.git/objects/new" write:"$T/victim/.git/HEAD"
}

# ---- tool ------------------------------------------------------------------------------------------------

test_tool_writes_the_workspace_and_no_more() {
        make_world
        FLAGS=(--preset tool --data "$T/data")
        allows read:/etc/passwd read:"$T/other/file" write:"$W/file" create:"$W/new" connect:pair \
                read:"$T/home/notes" -- \
                write:"$T/other/file" create:"$T/new" connect:inet connect:inet6 connect:unix \
                read:"$T/data/file" write:"$T/data/file" read:"$T/data" read:"$T/data/data/file" create:"$T/data/new"
}

test_tool_denies_the_nearest_repository_from_a_subdirectory() {
        make_world
        repository "$W"
        mkdir -p sub/deep
        cd sub/deep || fail "no directory"
        FLAGS=(--preset tool)
        allows read:"$W/file" create:"$W/sub/deep/new" -- \
                read:"$W/.git/HEAD" read:"$W/.git" read:"$W/.git/config" write:"$W/.git/HEAD" create:"$W/.git/new" create:"$W/new"
        FLAGS=(--preset tool --workspace "$W")
        allows write:"$W/file" create:"$W/new" -- read:"$W/.git/HEAD" create:"$W/.git/hooks/new" write:"$W/.git/config"
        is_refused sandbox mv "$W/.git" "$W/moved"
        control mv "$W/.git" "$W/moved"
}

test_tool_stops_at_the_nearest_repository() {
        repository "$W"
        repository "$W/inner"
        FLAGS=(--preset tool --workspace "$W/inner")
        allows read:"$W/.git/HEAD" -- read:"$W/inner/.git/HEAD"
}

test_tool_denies_a_worktree_pointer_and_its_directory() {
        repository "$T/main"
        git -C "$T/main" worktree add -q "$T/tree"
        FLAGS=(--preset tool --workspace "$T/tree")
        allows create:"$T/tree/new" -- read:"$T/tree/.git" write:"$T/tree/.git" \
                read:"$T/main/.git/worktrees/tree/HEAD" write:"$T/main/.git/worktrees/tree/HEAD"
        is_refused sandbox sh -c "rm -f '$T/tree/.git'"
        is_refused sandbox sh -c "mv '$T/tree/.git' '$T/tree/moved'"
        control sh -c "mv '$T/tree/.git' '$T/tree/moved'"
}

test_tool_denies_a_submodule_by_its_relative_pointer() {
        repository "$T/main"
        mkdir -p "$T/main/sub" "$T/main/.git/modules/sub"
        echo 'gitdir: ../.git/modules/sub' >"$T/main/sub/.git"
        echo content >"$T/main/.git/modules/sub/HEAD"
        FLAGS=(--preset tool --workspace "$T/main/sub")
        allows create:"$T/main/sub/new" -- read:"$T/main/sub/.git" read:"$T/main/.git/modules/sub/HEAD"
}

test_tool_denies_a_repository_behind_a_symbolic_link() {
        repository "$T/real"
        mv "$T/real/.git" "$T/store"
        ln -s "$T/store" "$T/real/.git"
        mkdir "$T/real/sub"
        FLAGS=(--preset tool --workspace "$T/real/sub")
        allows create:"$T/real/sub/new" -- read:"$T/real/.git/HEAD" read:"$T/store/HEAD"
}

test_tool_starts_when_the_pointer_leads_nowhere() {
        local text
        for text in 'gitdir: /no/such/directory' 'nonsense' '' 'gitdir:' 'gitdir: ../../../../../../../../..'; do
                printf '%s\n' "$text" >"$W/.git"
                FLAGS=(--preset tool)
                capture sandbox cat "$W/.git"
                # Denying what it names may be impossible (the root); then it must be said in one line.
                if [ "$RC" = 125 ]; then
                        [ "$(wc -l <"$T/err")" = 1 ] || fail "'$text': $(said)"
                else
                        [ "$RC" = 1 ] || fail "'$text': exit code $RC: $(said)"
                fi
        done
}

test_tool_without_a_repository_or_data_starts() {
        FLAGS=(--preset tool)
        allows create:"$W/new"
}

# ---- mcp -------------------------------------------------------------------------------------------------

test_mcp_writes_only_its_tmp_and_has_the_network() {
        make_world
        repository "$W"
        FLAGS=(--preset mcp --data "$T/data")
        allows read:"$T/other/file" read:"$W/file" create:/tmp/probe.$$ connect:inet connect:inet6 connect:pair -- \
                write:"$W/file" create:"$W/new" create:"$T/other/new" read:"$T/data/file" read:"$W/.git/HEAD" \
                write:"$W/.git/HEAD" create:"$T/data/new"
        succeeds sandbox sh -c 'ls -A /tmp | wc -l'
        prints 0
}

# ---- strict ----------------------------------------------------------------------------------------------

test_strict_shows_the_system_and_the_workspace_only() {
        make_world
        FLAGS=(--preset strict)
        allows read:/etc/passwd read:/usr/bin/env read:/usr read:"$W/file" write:"$W/file" create:"$W/new" \
                execute:/bin/true execute:/usr/bin/true create:/tmp/probe.$$ connect:pair -- \
                stat:"$T/other" read:"$T/other/file" stat:"$HOME" read:"$HOME/notes" stat:"$HOME/.ssh" stat:"$T/data" \
                stat:/var/log stat:/srv stat:/home create:"$T/new" connect:inet connect:unix
        succeeds sandbox ls -A /
        if grep -vxE 'bin|sbin|lib[0-9x]*|usr|etc|opt|nix|gnu|dev|proc|tmp|var' "$T/out"; then fail "shows $(<"$T/out")"; fi
        succeeds sandbox ls -A "$T"
        prints ws
}

test_strict_does_ordinary_work() {
        FLAGS=(--preset strict)
        printf 'int main(void) { return 0; }\n' >empty.c
        succeeds sandbox sh -c 'cc empty.c -o empty && ./empty'
        succeeds sandbox python3 -c 'import subprocess, tempfile; tempfile.TemporaryFile(); subprocess.run(["true"], check=True)'
        succeeds sandbox sh -c 'git init -q && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git status --porcelain'
}

test_strict_widens_by_read_write_and_exec() {
        make_world
        mkdir "$T/tools" "$T/writable"
        cp /bin/true "$T/tools/program"
        FLAGS=(--preset strict --read "$T/other" --read "$T/tools" --write "$T/writable")
        allows read:"$T/other/file" read:"$T/tools/program" create:"$T/writable/new" -- \
                write:"$T/other/file" create:"$T/other/new" execute:"$T/tools/program" stat:"$T/data"
        FLAGS=(--preset strict --exec "$T/tools")
        allows read:"$T/tools/program" execute:"$T/tools/program" -- write:"$T/tools/program" stat:"$T/other"
        FLAGS=(--preset strict --read "$T/other/file")
        allows read:"$T/other/file" -- write:"$T/other/file"
}

# ---- guard -----------------------------------------------------------------------------------------------

test_guard_allows_everything_but_system_writes_and_the_agents_files() {
        make_world
        echo content >"$T/external.toml"
        echo content >"$T/elsewhere"
        FLAGS=(--preset guard --data "$T/data" --config "$T/external.toml")
        allows read:/etc/passwd write:"$W/file" write:"$T/other/file" create:"$T/other/new" create:"$T/new" \
                read:"$HOME/.ssh/id_ed25519" write:"$HOME/notes" read:"$T/data/file" write:"$T/data/file" \
                write:"$T/data/skills/file" create:"$T/data/new" write:"$T/elsewhere" connect:inet connect:inet6 \
                connect:unix connect:pair write:/dev/null create:/tmp/probe.$$ -- \
                read:"$T/data/data/file" write:"$T/data/data/file" read:"$T/data/data" create:"$T/data/data/new" \
                read:"$T/data/config.toml" write:"$T/data/config.toml" read:"$T/external.toml" write:"$T/external.toml"
        # Not mv, which copies what it may read when a rename is refused.
        is_refused sandbox python3 -c "import os; os.rename('$T/data', '$T/moved')"
        is_refused sandbox python3 -c "import os; os.rename('$T/data/data', '$T/moved')"
        is_refused sandbox python3 -c "import os; os.rename('$T/external.toml', '$T/moved')"
        is_refused sandbox rm -f "$T/data/config.toml"
        control python3 -c "import os; os.rename('$T/external.toml', '$T/moved')"
        control python3 -c "import os; os.rename('$T/data/data', '$T/moved-too')"
        control python3 -c "import os; os.rename('$T/data', '$T/moved-as-well')"
}

test_guard_uses_the_hosts_tmp() {
        local name=$HOST_TMP
        FLAGS=(--preset guard)
        succeeds sandbox sh -c "echo content >$name"
        [ "$(<"$name")" = content ] || fail "not written to the host's /tmp"
}

test_guard_keeps_the_system_directories_from_being_written() {
        local dir file probes=()
        FLAGS=(--preset guard)
        for dir in /bin /sbin /usr/bin /usr/sbin /usr/lib /usr/libexec /lib /etc /boot /proc/sys/kernel; do
                file=$(find -L "$dir" -maxdepth 2 -type f -perm -200 -size -500k 2>/dev/null | head -n 1)
                [ -z "$file" ] || probes+=("write:$file")
        done
        [ "${#probes[@]}" -ge 7 ] || fail "found only ${probes[*]}"
        if is_root; then
                probes+=(create:/etc/abatis-probe create:/usr/lib/abatis-probe create:/bin/abatis-probe)
                allows read:/etc/passwd -- "${probes[@]}"
        else
                # The file modes refuse already, so there is no control; the answer must still be no.
                answers_are "${probes[@]/*/no}" -- "${probes[@]}"
        fi
}

test_guard_holds_what_does_not_exist_and_leaves_nothing_behind() {
        mkdir "$T/data"
        FLAGS=(--preset guard --data "$T/data")
        control sandbox touch "$T/data/other"
        is_refused sandbox touch "$T/data/config.toml"
        is_refused sandbox mkdir "$T/data/data"
        [ "$(ls -A "$T/data")" = other ] || fail "something was left behind: $(ls -A "$T/data")"
}

# ---- flags -----------------------------------------------------------------------------------------------

test_write_adds_a_writable_tree_or_file() {
        make_world
        FLAGS=(--write "$T/other")
        allows create:"$T/other/new" write:"$T/other/file" -- create:"$T/data/new" write:"$T/home/notes"
        FLAGS=(--write "$T/home/notes" --write "$T/data")
        allows write:"$T/home/notes" create:"$T/data/new" -- write:"$T/home/.bashrc" create:"$T/home/new"
}

test_deny_hides_a_file_and_a_tree_and_wins_over_everything() {
        make_world
        mkdir -p tree/deep
        echo content >tree/deep/file
        echo content >beside
        FLAGS=(--deny "$W/file" --deny "$W/tree" --write "$W/tree" --read "$W/tree/deep" --exec "$W/tree" --protect "$W/file")
        allows write:"$W/beside" create:"$W/new" -- read:"$W/file" write:"$W/file" read:"$W/tree" \
                read:"$W/tree/deep/file" write:"$W/tree/deep/file" create:"$W/tree/new" create:"$W/tree/deep/new"
        FLAGS=(--deny "$T/other" --deny "$T/home/notes" --deny /etc/hostname)
        allows read:"$T/data/file" -- read:"$T/other/file" read:"$T/other" read:"$T/home/notes" read:/etc/hostname
}

test_deny_is_the_same_path_however_it_is_written() {
        make_world
        ln -s "$T/other" "$T/link"
        for spelling in "$T/other/" "//$T/./other" "$T/link" "$T/other///file"; do
                FLAGS=(--deny "$spelling")
                allows read:"$T/data/file" -- read:"$T/other/file" read:"$T/link/file"
        done
}

test_deny_covers_whole_names_only() {
        mkdir "$T/bin" "$T/binaries" "$T/bin.d"
        for dir in bin binaries bin.d; do echo content >"$T/$dir/file"; done
        FLAGS=(--deny "$T/bin")
        allows read:"$T/binaries/file" read:"$T/bin.d/file" -- read:"$T/bin/file"
        FLAGS=(--deny "$T/binaries")
        allows read:"$T/bin/file" -- read:"$T/binaries/file"
}

test_deny_of_an_absent_path_in_a_crowded_directory_holds() {
        mkdir "$T/crowd"
        (cd "$T/crowd" && seq 1500 | xargs touch)
        ulimit -n 1024
        FLAGS=(--deny "$T/crowd/absent")
        capture sandbox sh -c "cat '$T/crowd/1' && until [ -e '$T/crowd/absent' ]; do sleep 0.05; done; cat '$T/crowd/absent'" &
        sleep 0.5
        echo secret >"$T/crowd/absent"
        wait $!
        if grep -q secret "$T/out"; then fail "a denied file that appeared later was read"; fi
        [ ! -s "$T/err" ] || ! grep -q '^abatis:' "$T/err" || fail "$(said)"
        control cat "$T/crowd/absent"
}

test_protect_keeps_a_file_and_a_tree_readable_and_unchanged() {
        make_world
        mkdir -p tree/deep
        echo content >tree/deep/file
        echo content >beside
        FLAGS=(--protect "$W/file" --protect "$W/tree" --write "$W/tree/deep")
        allows write:"$W/beside" create:"$W/new" read:"$W/file" read:"$W/tree/deep/file" -- \
                write:"$W/file" create:"$W/tree/new" write:"$W/tree/deep/file" create:"$W/tree/deep/new"
        is_refused sandbox chmod 777 file
        is_refused sandbox touch tree/deep/file
        is_refused sandbox mv tree moved
        is_refused sandbox rm -f file
        control chmod 777 file
        control touch tree/deep/file
        control mv tree moved
}

test_a_rule_below_tmp_is_visible_in_the_private_tmp() {
        local dir=$HOST_TMP
        mkdir "$dir" "$dir/read" "$dir/write" "$dir/hidden"
        for name in read write hidden; do echo content >"$dir/$name/file"; done
        FLAGS=(--read "$dir/read" --write "$dir/write")
        allows read:"$dir/read/file" create:"$dir/write/new" write:"$dir/write/file" -- \
                write:"$dir/read/file" create:"$dir/read/new" read:"$dir/hidden/file"
        FLAGS=(--workspace "$dir" --deny "$dir/hidden" --protect "$dir/read")
        allows create:"$dir/new" read:"$dir/read/file" -- read:"$dir/hidden/file" create:"$dir/read/new"
}

# Writing /proc or the workspace /proc must not bring the host's processes back into view.
test_the_hosts_processes_stay_invisible_whatever_is_granted() {
        local flags
        for flags in "--write /proc" "--read /proc" "--workspace /proc" "--write /proc/sys"; do
                # shellcheck disable=SC2206 # two words
                FLAGS=($flags)
                capture sandbox sh -c 'ls /proc | grep -c "^[0-9]"; ls -d /proc/'"$BASHPID"
                [ "$RC" != 125 ] || continue # refused: just as good
                [ "$(head -n 1 "$T/out")" -lt 10 ] || fail "$flags shows $(head -n 1 "$T/out") processes"
        done
        [ -d "/proc/$BASHPID" ] || fail "positive control failed: this process is not in /proc"
}

test_protect_holds_in_private_places_or_is_refused() {
        local dir
        for dir in /tmp /dev/shm; do
                FLAGS=(--protect "$dir")
                capture sandbox sh -c ">$dir/new"
                [ "$RC" != 0 ] || fail "$dir was written although it is protected"
                FLAGS=()
                control sandbox sh -c ">$dir/new"
        done
}

test_a_device_named_as_writable_stays_usable_or_is_refused() {
        local flags
        for flags in "--write /dev/null" "--read /dev/null" "--write /dev"; do
                # shellcheck disable=SC2206 # two words
                FLAGS=($flags)
                capture sandbox sh -c 'echo gone >/dev/null && cat /dev/null'
                [ "$RC" = 0 ] || [ "$RC" = 125 ] || fail "$flags: exit code $RC: $(said)"
        done
}

test_a_writable_root_is_refused_or_writable() {
        FLAGS=(--write /)
        capture sandbox sh -c ">'$W/made' && >'$T/made' && rm '$T/made'"
        [ "$RC" = 0 ] || [ "$RC" = 125 ] || fail "exit code $RC: $(said)"
}

test_net_modes_open_and_close_sockets() {
        FLAGS=(--net deny)
        allows connect:pair -- connect:inet connect:inet6 connect:unix
        FLAGS=(--net unix-only)
        allows connect:pair connect:unix -- connect:inet connect:inet6
        FLAGS=(--net allow)
        allows connect:pair connect:unix connect:inet connect:inet6
        FLAGS=(--preset mcp --net deny)
        allows connect:pair -- connect:inet connect:inet6 connect:unix
}

main "$@"
