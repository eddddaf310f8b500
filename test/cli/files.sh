#!/bin/bash
# files.sh: policy files: a hostile repository, a command that wants the next run weaker, a user below a ceiling.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016 # the sandboxed shell and the policy expand, not this one
. "$(dirname "$0")/lib.sh"

# Each test has a home and an environment of its own.
world() {
        export HOME=$T/home
        unset XDG_CONFIG_HOME XDG_STATE_HOME
        mkdir -p "$HOME"
}

project() { # TEXT
        printf '%s\n' "$1" >"$W/.abatis.yaml"
}

trust() {
        succeeds "$ABATIS" trust "$W"
}

# Refused before anything runs, in one line with these words.
refused() { # WORDS ARG...
        local phrase=$1
        shift
        exits 125 "$ABATIS" "$@" -- touch "$W/mark"
        [ ! -e "$W/mark" ] || fail "the command ran"
        grep -qF -- "$phrase" "$T/err" || fail "does not say '$phrase': $(said)"
}

# ---- a repository that somebody has cloned ----------------------------------------------------------------

test_a_project_opens_nothing_until_it_is_trusted() {
        world
        project 'network: {mode: allow}'
        refused "'abatis trust'" run
        trust
        succeeds "$ABATIS" run -- true
        project 'network: {mode: allow} # changed'
        refused "'abatis trust'" run
        trust
        succeeds "$ABATIS" trust --revoke
        refused "'abatis trust'" run
}

test_a_project_takes_away() {
        world
        mkdir "$W/keep" "$W/open"
        project 'filesystem: {write: ["${workspace}/open", "${tmp}"]}'
        allows "create:$W/open/a" -- "create:$W/keep/a"
}

# Both of them once showed the host's /tmp.
test_a_project_does_not_show_the_hosts_tmp() {
        world
        mkdir "$HOST_TMP"
        echo secret >"$HOST_TMP/file"
        project 'filesystem: {write: ["${workspace}"]}'
        control cat "$HOST_TMP/file"
        is_refused "$ABATIS" run -- cat "$HOST_TMP/file"
        succeeds "$ABATIS" run --policy "$W/.abatis.yaml" -- cat "$HOST_TMP/file"
        project "filesystem: {read: [all, '$HOST_TMP']}"
        refused "'$HOST_TMP' is not allowed without it" run
        trust
        succeeds "$ABATIS" run -- cat "$HOST_TMP/file"
}

# A name passes a variable whatever it holds.
test_a_project_does_not_pass_a_password() {
        world
        export INDEX=https://user:password@example.org/
        project 'environment: {pass: [PATH, INDEX]}'
        succeeds "$ABATIS" run -- env
        if grep -q password "$T/out"; then fail "passed: $(cat "$T/out")"; fi
        grep -q ^PATH= "$T/out" || fail "PATH is not passed"
        trust
        succeeds "$ABATIS" run -- env
        grep -q password "$T/out" || fail "positive control failed"
}

test_a_project_does_not_undo_what_is_set() {
        world
        mkdir -p "$HOME/.config/abatis"
        echo 'environment: {set: {MARK: mine}}' >"$HOME/.config/abatis/policy.yaml"
        export MARK=theirs
        project 'environment: {pass: [PATH, MARK]}'
        succeeds "$ABATIS" run -- printenv MARK
        prints mine
}

test_a_project_file_is_no_link() {
        world
        echo 'limits: {timeout: 60s}' >"$T/elsewhere"
        ln -s "$T/elsewhere" "$W/.abatis.yaml"
        refused 'is a symbolic link' run
        rm "$W/.abatis.yaml"
        mkfifo "$W/.abatis.yaml"
        refused 'is not a regular file' run
}

test_a_hostile_file_costs_nothing() {
        local begin
        world
        python3 -c 'print("a: &a " + "x" * 400000 + "\nb: [" + "*a," * 90000 + "]")' >"$W/.abatis.yaml"
        begin=$SECONDS
        (ulimit -v 2000000 && "$ABATIS" run -- true) 2>"$T/err" && fail "was taken"
        grep -q 'aliases make more than 1 MiB' "$T/err" || fail "$(said)"
        python3 -c 'print("filesystem: {deny: [" + ",".join("/no/%x" % i for i in range(60000)) + "]}")' >"$W/.abatis.yaml"
        refused 'more than 1000 entries' run
        python3 -c 'print("[" * 500000)' >"$W/.abatis.yaml"
        refused 'nested deeper' run
        [ $((SECONDS - begin)) -lt 30 ] || fail "took $((SECONDS - begin)) seconds"
}

# ---- a command that wants the next run weaker -------------------------------------------------------------

# Write, replace, remove, rename away, or put something else there.
cannot_change() { # FILE FLAG...
        local file=$1 directory before
        directory=$(dirname "$file")
        shift
        FLAGS=("$@")
        before=$(listing "$file")
        is_refused sandbox sh -c 'echo more >>"$1"' sh "$file"
        is_refused sandbox rm -rf "$file"
        is_refused sandbox mv "$file" "$file.old"
        is_refused sandbox sh -c 'touch "$2/new" && mv -T "$2/new" "$1"' sh "$file" "$directory"
        [ "$before" = "$(listing "$file")" ] || fail "$file has changed"
}

test_the_projects_file_cannot_be_changed() {
        world
        project 'limits: {timeout: 60s}'
        touch "$W/other"
        cannot_change "$W/.abatis.yaml"
        succeeds sandbox sh -c 'echo x >>other && mv other another'
}

test_the_given_file_cannot_be_changed() {
        world
        mkdir "$W/ci"
        echo 'limits: {timeout: 60s}' >"$W/ci/policy.yaml"
        cannot_change "$W/ci/policy.yaml" --policy "$W/ci/policy.yaml"
        cannot_change "$W/ci/policy.yaml" --policy ci/policy.yaml
        is_refused sandbox mv ci elsewhere
        succeeds sandbox touch ci/other
}

test_the_users_files_cannot_be_changed() {
        world
        mkdir -p "$HOME/.config/abatis/profiles" "$HOME/.config/other"
        echo 'limits: {timeout: 60s}' >"$HOME/.config/abatis/policy.yaml"
        echo 'extends: dev' >"$HOME/.config/abatis/profiles/mine.yaml"
        project 'network: {mode: allow}'
        trust
        cd "$HOME" || fail "no home"
        cannot_change "$HOME/.config/abatis/policy.yaml"
        cannot_change "$HOME/.config/abatis/profiles/mine.yaml"
        cannot_change "$(find "$HOME/.local/state/abatis/trust" -type f)"
        is_refused sandbox touch "$HOME/.config/abatis/profiles/new.yaml"
        is_refused sandbox touch "$HOME/.local/state/abatis/trust/new"
        is_refused sandbox mv "$HOME/.config" "$HOME/.config.old"
        is_refused sandbox mv "$HOME/.local/state" "$HOME/.local/state.old"
        succeeds sandbox touch "$HOME/.config/other/file"
}

test_files_behind_a_link_cannot_be_changed() {
        world
        mkdir -p "$HOME/.config/abatis" "$W/dotfiles"
        echo 'limits: {timeout: 60s}' >"$W/dotfiles/policy.yaml"
        ln -s "$W/dotfiles/policy.yaml" "$HOME/.config/abatis/policy.yaml"
        cannot_change "$W/dotfiles/policy.yaml"
        # Where the link itself could be replaced nothing runs.
        echo 'limits: {timeout: 60s}' >"$T/policy.yaml"
        ln -s "$T/policy.yaml" "$W/policy.yaml"
        refused "is a symbolic link that the command could replace" run --policy "$W/policy.yaml"
}

# A first run plants a link where the second run's policy names a directory.
test_a_planted_link_opens_nothing() {
        world
        mkdir "$T/secret"
        echo secret >"$T/secret/file"
        printf '%s\n' 'extends: []' >"$T/policy.yaml"
        printf '%s\n' 'filesystem: {read: [system, "${workspace}/data"], write: ["${workspace}", "${tmp}"], execute: [system]}' \
                >>"$T/policy.yaml"
        mkdir "$W/data"
        FLAGS=(--policy "$T/policy.yaml")
        succeeds sandbox sh -c 'rmdir data && ln -s "$1" data' sh "$T/secret"
        control cat "$W/data/file"
        refused 'is a symbolic link that may be planted' run "${FLAGS[@]}"
}

# ---- a user below a ceiling -------------------------------------------------------------------------------

# Runs a script with this ceiling: with a copy of /etc in the place of /etc.
below() { # CEILING SCRIPT
        local flags=(--mount)
        is_root || flags+=(--map-root-user)
        unshare "${flags[@]}" true 2>/dev/null || skip "no mount namespace for this user"
        if [ ! -d "$T/etc" ]; then
                mkdir "$T/etc"
                cp -a /etc/group /etc/ld.so.cache /etc/alternatives /etc/nsswitch.conf "$T/etc" 2>/dev/null
                echo "root:x:0:0:root:$HOME:/bin/sh" >"$T/etc/passwd"
                mkdir "$T/etc/abatis"
        fi
        printf '%s\n' "$1" >"$T/etc/abatis/policy.yaml"
        capture env ABATIS="$ABATIS" W="$W" T="$T" unshare "${flags[@]}" sh -c \
                'mount --bind "$T/etc" /etc || exit 77; '"$2"
        [ "$RC" != 77 ] || skip "no bind mount for this user"
}

over() { # WORDS CEILING FLAGS
        below "$2" 'exec "$ABATIS" run '"$3"' -- touch "$W/mark"'
        [ "$RC" = 125 ] || fail "exit code $RC with $3: $(said)"
        [ ! -e "$W/mark" ] || fail "the command ran with $3"
        grep -qF -- "$1" "$T/err" || fail "does not say '$1': $(said)"
}

test_a_ceiling_is_over_everything() {
        local ceiling='{network: {mode: deny}, limits: {timeout: 30s}, filesystem: {write: ["${workspace}", "${tmp}"]}}'
        world
        mkdir -p "$T/out.d" "$HOME/.config/abatis/profiles"
        below "$ceiling" 'exec "$ABATIS" run -- touch "$W/good"'
        [ "$RC" = 0 ] && [ -e "$W/good" ] || fail "positive control failed (exit code $RC): $(said)"
        over 'is more than /etc/abatis/policy.yaml allows' "$ceiling" '--net allow'
        over 'is more than /etc/abatis/policy.yaml allows' "$ceiling" '--timeout 31s'
        over 'is more than /etc/abatis/policy.yaml allows' "$ceiling" "--write $T/out.d"
        over 'is more than /etc/abatis/policy.yaml allows' "$ceiling" '--unix /run/docker.sock'
        echo 'network: {mode: allow}' >"$T/given.yaml"
        over 'is more than /etc/abatis/policy.yaml allows' "$ceiling" "--policy $T/given.yaml"
        echo '{"filesystem": {"allowWrite": ["'"$T"'/out.d"]}}' >"$T/given.json"
        over 'is more than /etc/abatis/policy.yaml allows' "$ceiling" "--policy $T/given.json"
        cp "$T/given.yaml" "$HOME/.config/abatis/policy.yaml"
        over 'is more than /etc/abatis/policy.yaml allows' "$ceiling" ''
        rm "$HOME/.config/abatis/policy.yaml"
        # What a preset gives is cut.
        below "$ceiling" 'exec "$ABATIS" explain --preset guard -- true'
        [ "$RC" = 0 ] || fail "guard is refused: $(said)"
        grep -q 'network.mode deny' "$T/out" || fail "the network of guard is not cut"
}

test_a_ceiling_does_not_follow_the_user() {
        world
        mkdir -p "$HOME/.config/abatis/profiles"
        echo 'extends: guard' >"$HOME/.config/abatis/profiles/node.yaml"
        over 'the workspace' 'extends: node' ''
        echo 'extends: guard' >"$HOME/.config/abatis/profiles/mine.yaml"
        over "no preset or profile 'mine'" 'extends: mine' ''
        over 'by their absolute paths' 'process: {commands: [git]}' ''
}

main "$@"
