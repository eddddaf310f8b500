#!/bin/bash
# policy.sh: policy files: layers, trust, the ceiling, foreign formats, what is printed and what is refused.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# A home and a project of this test's own; nothing of the machine's counts.
make_places() {
        export HOME=$T/home XDG_CONFIG_HOME=$T/home/.config XDG_STATE_HOME=$T/home/.local/state
        mkdir -p "$HOME/.config/abatis/profiles" "$HOME/.cache" "$W/src" "$W/.git/hooks"
        touch "$W/.git/config"
}

user_file() { cat >"$HOME/.config/abatis/policy.yaml"; }
project_file() { cat >"$W/.abatis.yaml"; }

says_error() { # TEXT: the one line on stderr contains it
        [ "$(wc -l <"$T/err")" = 1 ] || fail "not one line: $(said)"
        grep -qF -- "$1" "$T/err" || fail "said: $(said)"
}

refuses() { # TEXT CMD [ARG...]: exit code 125 and this error
        local text=$1
        shift
        exits 125 "$@"
        says_error "$text"
}

shows() { # TEXT: a line of `policy show`, blanks squeezed
        "$ABATIS" policy show ${FLAGS[@]+"${FLAGS[@]}"} 2>&1 | tr -s ' ' | grep -qF -- "$1" ||
                fail "not shown: $1 in: $("$ABATIS" policy show ${FLAGS[@]+"${FLAGS[@]}"} 2>&1 | tr -s ' ' | head -40)"
}

shows_not() {
        if "$ABATIS" policy show ${FLAGS[@]+"${FLAGS[@]}"} 2>&1 | tr -s ' ' | grep -qF -- "$1"; then
                fail "shown: $1"
        fi
}

# ---- layers -------------------------------------------------------------------------------------------------

test_three_layers_and_where_each_line_came_from() {
        make_places
        user_file <<'EOF'
version: 1
filesystem:
  write: [inherited, "~/.cache"]
  deny: ["~/private"]
limits: {timeout: 5m}
EOF
        project_file <<'EOF'
version: 1
filesystem:
  write: ["${workspace}/src", "${tmp}"]
limits:
  timeout: 30s
EOF
        FLAGS=(--protect "$W/src")
        shows "\"all\" # preset dev"
        shows "\"$W/src\" # $W/.abatis.yaml:3"
        shows "\"$HOME/private\" # $HOME/.config/abatis/policy.yaml:4"
        shows "timeout: 30s # $W/.abatis.yaml:5"
        shows "\"$W/src\" # filesystem.protect"
        shows_not "$HOME/.cache"
}

test_what_is_shown_can_be_read_again_and_means_the_same() {
        make_places
        user_file <<'EOF'
filesystem: {deny: ["~/a b", {path: "/srv/[x]*"}], protect: ["${workspace}/.git"]}
environment: {pass: [all, MY_TOKEN], set: {A: "x \"y\" # z"}, deny: ["B*"]}
limits: {memory: 3MiB, timeout: 90s, open_files: 7}
EOF
        "$ABATIS" policy show >"$T/first.yaml"
        user_file </dev/null
        "$ABATIS" policy show --policy "$T/first.yaml" | sed 's/ *#.*//' >"$T/second.yaml"
        sed -i 's/ *#.*//' "$T/first.yaml"
        diff "$T/first.yaml" "$T/second.yaml" >&2 || fail "$(diff "$T/first.yaml" "$T/second.yaml" | head -5)"
}

test_a_list_of_a_file_replaces_and_inherited_keeps() {
        make_places
        user_file <<<'filesystem: {write: ["~/.cache"]}'
        is_refused sandbox touch "$W/new"
        succeeds sandbox touch "$HOME/.cache/new"
        user_file <<<'filesystem: {write: [inherited, "~/.cache"]}'
        succeeds sandbox touch "$W/new"
        succeeds sandbox touch "$HOME/.cache/new"
}

test_nobody_takes_a_deny_back() {
        make_places
        mkdir "$T/secret"
        echo secret >"$T/secret/file"
        control sandbox cat "$T/secret/file"
        user_file <<<"filesystem: {deny: [\"$T/secret\"]}"
        cat >"$T/more.yaml" <<<"filesystem: {read: [all], deny: [], write: [\"$T/secret\"]}"
        FLAGS=(--policy "$T/more.yaml" --read "$T/secret")
        is_refused sandbox cat "$T/secret/file"
}

test_a_file_in_each_format_means_the_same() {
        make_places
        mkdir "$T/other"
        cat >"$T/p.yaml" <<<"filesystem: {write: [inherited, \"$T/other\"]}"
        cat >"$T/p.json" <<<"{\"filesystem\": {\"write\": [\"inherited\", \"$T/other\"]}}"
        printf '[filesystem]\nwrite = ["inherited", "%s"]\n' "$T/other" >"$T/p.toml"
        is_refused sandbox touch "$T/other/file"
        for format in yaml json toml; do
                FLAGS=(--policy "$T/p.$format")
                succeeds sandbox touch "$T/other/$format"
        done
}

test_flags_count_more_than_files() {
        make_places
        user_file <<<'limits: {timeout: 1h}'
        FLAGS=(--timeout 300ms)
        exits 124 sandbox sleep 20
}

test_output_limit_of_a_file_holds_without_a_flag() {
        make_places
        user_file <<<'limits: {output: 10B}'
        succeeds sandbox printf '%s' 1234567890123456
        prints 1234523456
        FLAGS=(--max-output none)
        succeeds sandbox printf '%s' 1234567890123456
        prints 1234567890123456
        shows 'output: none # limits.output'
}

test_the_command_has_no_limit_that_nobody_set() {
        make_places
        shows_not limits
        user_file <<<'limits: {timeout: none, processes: none}'
        shows 'timeout: none'
        shows 'processes: none'
        succeeds "$ABATIS" policy lint
}

test_a_read_list_over_dev_hides_the_rest() {
        make_places
        mkdir "$T/other"
        echo content >"$T/other/file"
        control sandbox cat "$T/other/file"
        user_file <<<'filesystem: {read: [system, "${workspace}"]}'
        is_refused sandbox cat "$T/other/file"
        succeeds sandbox ls "$W"
}

# ---- the project's own file -----------------------------------------------------------------------------------

test_a_project_may_narrow() {
        make_places
        project_file <<<'filesystem: {write: ["${workspace}/src"]}'
        succeeds sandbox touch src/file
        is_refused sandbox touch file
}

test_a_project_may_not_widen_until_it_is_trusted() {
        make_places
        mkdir "$T/other"
        project_file <<<"filesystem: {write: [inherited, \"$T/other\"]}"
        refuses "$W/.abatis.yaml:1:33: filesystem.write: '$T/other' is not allowed without it" sandbox true
        succeeds "$ABATIS" trust
        succeeds sandbox touch "$T/other/file"
        # A change asks again.
        echo '# changed' >>"$W/.abatis.yaml"
        refuses "abatis trust" sandbox true
        succeeds "$ABATIS" trust
        succeeds "$ABATIS" trust --revoke
        refuses "abatis trust" sandbox true
}

test_every_way_of_a_project_to_widen_is_refused() {
        make_places
        user_file <<<'{process: {commands: []}, limits: {timeout: 1m}}'
        local text
        for text in 'filesystem: {write: ["~"]}' 'filesystem: {write: ["/"]}' 'network: {mode: allow}' \
                'network: {mode: unix-only}' 'network: {mode: list, connect: ["a.b:443"]}' 'extends: guard' \
                'environment: {set: {PATH: "/tmp"}}' 'environment: {pass: [all, MY_API_KEY]}' 'limits: {timeout: 2m}' \
                'network: {unix: ["/run/docker.sock"]}' 'filesystem: {write: ["${workspace}/../.."]}'; do
                project_file <<<"$text"
                capture sandbox true
                [ "$RC" = 125 ] || fail "exit code $RC for: $text"
        done
        project_file <<<'limits: {timeout: 30s}'
        control sandbox true
}

test_the_nearest_project_file_up_to_the_repository_counts() {
        make_places
        mkdir -p "$W/a/b"
        project_file <<<'filesystem: {write: ["${workspace}"]}'
        FLAGS=(--workspace "$W/a/b")
        shows "# $W/.abatis.yaml:1"
        rm -r "$W/.git"
        shows_not ".abatis.yaml"
        # Above the repository nothing counts.
        mkdir "$W/a/.git"
        shows_not ".abatis.yaml"
}

test_a_project_file_that_is_a_link_is_refused() {
        make_places
        echo 'limits: {timeout: 30s}' >"$T/elsewhere"
        ln -s "$T/elsewhere" "$W/.abatis.yaml"
        refuses "is a symbolic link" sandbox true
}

test_a_user_file_of_somebody_else_is_refused() {
        make_places
        user_file <<<'limits: {timeout: 30s}'
        control sandbox true
        chmod o+w "$HOME/.config/abatis/policy.yaml"
        refuses "can be written by everybody" sandbox true
}

test_a_command_cannot_write_its_own_trust() {
        make_places
        user_file <<<'limits: {timeout: 30s}'
        mkdir -p "$HOME/.local/state/abatis/trust"
        FLAGS=(--workspace "$HOME")
        control sandbox touch "$HOME/.cache/file"
        is_refused sandbox touch "$HOME/.config/abatis/policy.yaml"
        is_refused sandbox touch "$HOME/.local/state/abatis/trust/file"
}

# ---- the ceiling ------------------------------------------------------------------------------------------------

# Runs with this text as /etc/abatis/policy.yaml, in a mount namespace of its own.
with_ceiling() { # TEXT CMD [ARG...]
        local text=$1
        shift
        # shellcheck disable=SC2016 # for the inner shell
        unshare -m sh -c '
                mkdir -p /etc/abatis 2>/dev/null
                mount -t tmpfs tmpfs /etc/abatis || exit 99
                printf "%s\n" "$1" >/etc/abatis/policy.yaml
                shift
                exec "$@"' sh "$text" "$@"
}

needs_root() {
        [ "$(id -u)" = 0 ] || skip "only root can put a file below /etc; the other role does"
}

test_the_ceiling_cuts_presets_and_refuses_what_is_asked() {
        needs_root
        make_places
        mkdir "$T/other"
        echo content >"$T/other/file"
        control with_ceiling "" "$ABATIS" run -- cat "$T/other/file"
        # What a preset gives is cut.
        succeeds with_ceiling "filesystem: {deny: [\"$T/other\"]}" "$ABATIS" run -- ls "$W"
        is_refused with_ceiling "filesystem: {deny: [\"$T/other\"]}" "$ABATIS" run -- cat "$T/other/file"
        is_refused with_ceiling "filesystem: {read: [system, \"$W\"]}" "$ABATIS" run -- cat "$T/other/file"
        # What is asked for is refused.
        refuses "is more than /etc/abatis/policy.yaml allows" with_ceiling "filesystem: {write: [\"$W\"]}" \
                "$ABATIS" run --write "$T/other" -- true
        refuses "is more than /etc/abatis/policy.yaml allows" with_ceiling 'limits: {timeout: 5s}' \
                "$ABATIS" run --timeout 1h -- true
        refuses "is more than /etc/abatis/policy.yaml allows" with_ceiling 'network: {mode: deny}' \
                "$ABATIS" run --net allow -- true
        refuses "the workspace" with_ceiling 'filesystem: {write: ["/srv"]}' "$ABATIS" run -- true
        exits 124 with_ceiling 'limits: {timeout: 300ms}' "$ABATIS" run -- sleep 20
}

# ---- foreign formats ----------------------------------------------------------------------------------------------

test_yaml_with_a_sandbox_section_runs_as_it_is() {
        make_places
        local loader=
        [[ ! -d /lib64 ]] || loader=', "/lib64"'
        mkdir "$T/kept"
        cat >"$T/p.yaml" <<EOF
version: "1.0"
default_action: deny
policies: []
sandbox:
  allow_paths:
    read: ["$W"]
    write: ["$T/kept"]
    execute: ["/usr", "/bin", "/lib", "/etc"$loader]
  resource_limits: {max_open_files: 64, timeout_seconds: 20}
EOF
        FLAGS=(--policy "$T/p.yaml")
        succeeds sandbox touch "$T/kept/file"
        is_refused sandbox touch "$W/file"
        is_refused sandbox ls "$HOME"
        "$ABATIS" policy convert "$T/p.yaml" | grep -q 'timeout: 20s' || fail "no timeout"
}

test_toml_with_a_sandbox_table_runs_as_it_is() {
        make_places
        mkdir "$T/blocked"
        echo secret >"$T/blocked/file"
        printf '[sandbox]\nenabled = true\nblocked_paths = ["%s"]\nmax_execution_time_secs = 1\n' "$T/blocked" >"$T/p.toml"
        FLAGS=(--policy "$T/p.toml")
        succeeds sandbox true
        exits 124 sandbox sleep 20
        printf '[sandbox]\nenabled = false\n' >"$T/p.toml"
        refuses "sandbox is disabled" sandbox true
}

test_srt_settings_run_as_they_are() {
        make_places
        mkdir "$T/kept" "$T/secret"
        echo secret >"$T/secret/file"
        cat >"$T/p.json" <<EOF
{"network": {"allowedDomains": [], "deniedDomains": []},
 "filesystem": {"denyRead": ["$T/secret"], "allowWrite": [".", "$T/kept"], "denyWrite": ["$W/.git"]}}
EOF
        FLAGS=(--policy "$T/p.json")
        succeeds sandbox touch file
        succeeds sandbox touch "$T/kept/file"
        is_refused sandbox cat "$T/secret/file"
        is_refused sandbox touch "$W/.git/file"
}

test_what_is_converted_means_the_same() {
        make_places
        cat >"$T/p.json" <<<'{"filesystem": {"denyRead": ["~/.cache"], "allowWrite": ["."], "denyWrite": []}}'
        "$ABATIS" policy convert "$T/p.json" >"$T/c.yaml"
        FLAGS=(--policy "$T/p.json")
        "$ABATIS" policy show "${FLAGS[@]}" | sed 's/ *#.*//' >"$T/first"
        "$ABATIS" policy show --policy "$T/c.yaml" | sed 's/ *#.*//' >"$T/second"
        diff "$T/first" "$T/second" >&2 || fail "$(diff "$T/first" "$T/second" | head -5)"
}

# ---- profiles and lint ----------------------------------------------------------------------------------------------

test_profiles_are_listed_shown_and_used() {
        make_places
        exits 0 "$ABATIS" profile list
        grep -q '^python ' "$T/out" || fail "python is not listed"
        succeeds "$ABATIS" profile show python
        refuses "there is no profile 'pyhton'" "$ABATIS" profile show pyhton
        cat >"$HOME/.config/abatis/profiles/mine.yaml" <<<'{extends: [dev, python], limits: {timeout: 300ms}}'
        FLAGS=(--profile mine)
        succeeds sandbox true
        exits 124 sandbox sleep 20
        cat >"$HOME/.config/abatis/profiles/mine.yaml" <<<'extends: other'
        cat >"$HOME/.config/abatis/profiles/other.yaml" <<<'extends: mine'
        refuses "a profile cannot extend itself" sandbox true
}

test_a_profile_name_is_no_path() {
        make_places
        echo 'extends: guard' >"$T/home/.config/abatis/evil.yaml"
        refuses "there is no preset or profile" "$ABATIS" run --profile ../evil -- true
}

test_lint_finds_what_does_nothing_and_known_holes() {
        make_places
        export PATH=$HOME/bin:$PATH
        mkdir "$HOME/bin"
        exits 0 "$ABATIS" policy lint
        cat >"$T/p.yaml" <<'EOF'
filesystem:
  read: [all, "/usr"]
  write: [inherited, "~/bin", "${workspace}/src"]
  deny: ["~/bin/x"]
  protect: ["/usr"]
network: {mode: allow}
EOF
        exits 1 "$ABATIS" policy lint --policy "$T/p.yaml"
        for text in "read '/usr' does nothing" "write '$W/src' does nothing" "protect '/usr' does nothing" \
                "'$HOME/bin' is in PATH and writable" "may be read and the network is open"; do
                grep -qF "$text" "$T/out" || fail "not found: $text in $(cat "$T/out")"
        done
        exits 1 "$ABATIS" policy lint --no-verify-sni
        grep -qF 'network.verify_sni does nothing: the mode is deny, not list' "$T/out" || fail "$(cat "$T/out")"
        exits 1 "$ABATIS" policy lint --connect example.org:443 --no-loopback
        grep -qF 'network.loopback does nothing: the mode is list, not deny' "$T/out" || fail "$(cat "$T/out")"
        exits 1 "$ABATIS" policy lint --connect example.org:443 --no-verify-sni
        grep -qF 'hole: network.verify_sni is false' "$T/out" || fail "$(cat "$T/out")"
}

test_lint_finds_writable_startup_files() {
        make_places
        FLAGS=(--workspace "$HOME")
        exits 1 "$ABATIS" policy lint "${FLAGS[@]}"
        grep -q "runs outside the sandbox the next time" "$T/out" || fail "$(cat "$T/out")"
}

# ---- mistakes -----------------------------------------------------------------------------------------------------

test_ten_typical_mistakes_and_more() {
        make_places
        local name=$T/p.yaml text message
        while IFS='|' read -r text message; do
                printf '%b\n' "$text" >"$name"
                capture "$ABATIS" run --policy "$name" -- true
                [ "$RC" = 125 ] || fail "exit code $RC for: $text"
                grep -qF -- "abatis: $name:$message" "$T/err" || fail "for '$text': $(said)"
        done <<'EOF'
filesystem: {wirte: []}|1:14: unknown key 'wirte' in filesystem; did you mean 'write'?
filsystem: {}|1:1: unknown key 'filsystem'; did you mean 'filesystem'?
limits: {timeout: 30}|1:19: limits.timeout: 30 has no unit; write 30s for seconds
limits: {memory: 2GiBs}|1:18: limits.memory: '2GiBs' is not of the form 512MiB
limits: {memory: 99999999999GiB}|1:18: limits.memory: '99999999999GiB' is too large
limits: {processes: many}|1:21: limits.processes takes a whole number, not text
network: {mode: alow}|1:17: network.mode: unknown mode 'alow'; did you mean 'allow'?
network: {mode: deny, connect: ["a.b:443"]}|1:33: network.connect needs network.mode list, not deny
filesystem: {deny: [secrets/x]}|1:21: filesystem.deny: 'secrets/x' is relative; write an absolute path, ~/... or ${workspace}/...
filesystem: {read: [~]}|1:21: filesystem.read: in YAML a lone ~ means nothing; write "~"
filesystem: {write: ["/srv/*"]}|1:22: filesystem.write: '/srv/*': patterns can only deny or protect; {path: "..."} is for a name with such a character in it
filesystem: {deny: ["${worspace}/x"]}|1:21: filesystem.deny: unknown variable '${worspace}'; did you mean 'workspace'?
version: 2|1:10: version: this abatis reads version 1 only
extends: dve|1:10: extends: there is no preset or profile 'dve'; did you mean 'dev'?
filesystem: [a]|1:13: filesystem takes a map, not a list
filesystem: {write: "/srv"}|1:21: filesystem.write takes a list of paths, not text
network: {verify_sni: 1}|1:23: network.verify_sni takes true or false, not a whole number
network: {verify_sni: maybe}|1:23: network.verify_sni takes true or false, not text
limits: {connections: 0}|1:23: limits.connections: '0' is zero; write none to have no limit
limits: {connections_per_second: -1}|1:34: limits.connections_per_second: '-1' is not of the form 256
limits: {traffic: 99999999999GiB}|1:19: limits.traffic: '99999999999GiB' is too large
limits: {connection: 5}|1:10: unknown key 'connection' in limits; did you mean 'connections'?
process: {fork: no}|1:17: process.fork takes true or false, not text
version: 1\nversion: 1|2:1: duplicate key 'version', first on line 1
filesystem: {write: ["/nowhere"]}|1:22: filesystem.write: '/nowhere' does not exist
environment: {set: {A: 1}}|1:24: environment.set.A takes text, not a whole number; put it in quotes
- a|1:1: a policy is a map, not a list
a: [|2:1: while parsing a flow node: did not find expected node content
EOF
}

test_hostile_files_are_refused_quickly() {
        make_places
        head -c 1048577 /dev/zero | tr '\0' '#' >"$T/p.yaml"
        refuses "larger than 1 MiB" "$ABATIS" run --policy "$T/p.yaml" -- true
        printf 'a: "x\xff"\n' >"$T/p.yaml"
        refuses "p.yaml:1:6: not UTF-8" "$ABATIS" run --policy "$T/p.yaml" -- true
        printf 'a: \0\n' >"$T/p.yaml"
        refuses "p.yaml:1:4: a NUL byte" "$ABATIS" run --policy "$T/p.yaml" -- true
        printf 'a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n' >"$T/p.yaml"
        printf 'd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e]\n' >>"$T/p.yaml"
        refuses "more than 100000 values" "$ABATIS" run --policy "$T/p.yaml" -- true
        head -c 100 /dev/zero | tr '\0' '[' >"$T/p.yaml"
        refuses "nested deeper than 64 levels" "$ABATIS" run --policy "$T/p.yaml" -- true
        mkfifo "$T/fifo"
        refuses "is not a regular file" "$ABATIS" run --policy "$T/fifo" -- true
        refuses "does not exist" "$ABATIS" run --policy "$T/absent" -- true
}

test_odd_names_are_ordinary_paths() {
        make_places
        local dir
        for dir in "$T/[x]*" "$T/a b" "$T/q\"uote" "$T/{brace}"; do
                mkdir "$dir"
                echo content >"$dir/file"
                control sandbox cat "$dir/file"
                python3 -c 'import json, sys; print(json.dumps({"filesystem": {"deny": [{"path": sys.argv[1]}]}}))' "$dir" >"$T/p.json"
                FLAGS=(--policy "$T/p.json")
                is_refused sandbox cat "$dir/file"
                FLAGS=()
        done
}

main "$@"
