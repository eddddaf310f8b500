#!/bin/bash
# commands.sh: with --command only listed programs start; ordinary work with them goes on, everything else is told in one line.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016 # the sandboxed shell expands, not this one
. "$(dirname "$0")/lib.sh"

list() { # NAME...
        local name
        FLAGS=()
        for name; do FLAGS+=(--command "$name"); done
}

# One line, the right exit code, nothing ran.
refuses() { # CODE WORD COMMAND...
        local code=$1 word=$2
        shift 2
        rm -f "$W/mark"
        exits "$code" "$@"
        [ "$(wc -l <"$T/err")" = 1 ] || fail "$(wc -l <"$T/err") lines on stderr: $(said)"
        [ "$(head -c 8 "$T/err")" = 'abatis: ' ] || fail "does not start with 'abatis: ': $(said)"
        grep -qFe "$word" "$T/err" || fail "does not name '$word': $(said)"
        [ ! -e "$W/mark" ] || fail "the command ran"
}

# ---- ordinary work ---------------------------------------------------------------------------------------

test_a_listed_program_runs_and_an_unlisted_one_does_not() {
        list sh touch
        succeeds sandbox touch mark
        [ -e mark ] || fail "no mark"
        rm mark
        FLAGS=()
        control sandbox sh -c '/bin/true && touch mark'
        list sh touch
        is_refused sandbox sh -c '/bin/true && touch mark'
        [ "$RC" = 126 ] || fail "exit code $RC: $(said)"
        [ ! -e mark ] || echo "/bin/true ran"
}

test_a_shell_with_its_tools_works() {
        list sh ls wc sort cat mkdir rm cp seq
        succeeds sandbox sh -c 'mkdir d && seq 100 >d/f && cp d/f d/g && cat d/f d/g | sort -u | wc -l && ls d && rm -r d'
        prints "$(printf '100\nf\ng')"
}

test_every_kind_of_name_works() {
        local name
        for name in true /bin/true /usr/bin/true "$(readlink -f /bin/true)"; do
                list "$name"
                succeeds sandbox true
                succeeds sandbox /bin/true
                succeeds sandbox /usr/bin/true
        done
}

test_git_works() {
        needs git
        list git sh
        [ ! -x /usr/lib/git-core/git ] || FLAGS+=(--command /usr/lib/git-core/git)
        succeeds sandbox sh -c 'git init -q . && echo hello >f && git add f && git commit -qm first && git log --format=%s'
        prints first
        [ ! -s "$T/err" ] || fail "git complains: $(said)"
        succeeds sandbox git status --short
        prints ''
}

test_python_works() {
        [ -x /usr/bin/python3 ] || skip "no /usr/bin/python3"
        list /usr/bin/python3 ls
        printf 'import ctypes, hashlib, json, subprocess\nprint(json.dumps(subprocess.run(["ls", "-d", "/"]).returncode))\n' >p.py
        succeeds sandbox /usr/bin/python3 p.py
        prints "$(printf '/\n0')"
        succeeds sandbox /usr/bin/python3 -c 'import subprocess
try:
    subprocess.run(["true"])
except PermissionError:
    print("refused")'
        prints refused
        succeeds sandbox /usr/bin/python3 -m venv --without-pip venv
        # A link leads to the listed program: it is that.
        succeeds sandbox venv/bin/python3 -c 'print(7)'
        prints 7
}

test_a_just_in_time_compiler_works() {
        needs node
        list node
        succeeds sandbox node -e 'let s = 0; for (let i = 0; i < 1e6; i++) s += i; console.log(s)'
        prints 499999500000
}

test_a_listed_script_runs_and_brings_its_interpreter() {
        printf '#!/bin/sh\nread line <"$0" && echo "$line"\n' >script
        chmod 755 script
        list "$W/script"
        succeeds sandbox ./script
        prints '#!/bin/sh'
        printf '#!/usr/bin/env sh\necho hello\n' >script
        succeeds sandbox ./script
        prints hello
        # Only what is named can be run from outside, although it can be started inside.
        refuses 126 /bin/sh sandbox /bin/sh -c 'touch mark'
        # It cannot be written, also not by itself.
        printf '#!/bin/sh\necho more >>"$0" || exit 3\n' >script
        exits 3 sandbox ./script
}

test_presets_keep_the_list() {
        local preset
        mkdir -p "$T/data/data"
        echo >"$T/data/config.toml"
        for preset in dev tool mcp strict guard; do
                FLAGS=(--preset "$preset" --data "$T/data" --command sh --command ls)
                succeeds sandbox sh -c 'ls / >/dev/null && echo works'
                prints works
                is_refused sandbox sh -c /bin/true
                cp /bin/true copy
                is_refused sandbox sh -c ./copy
        done
}

test_a_program_of_the_hosts_tmp_can_be_shown() {
        mkdir "$HOST_TMP"
        cp /bin/echo "$HOST_TMP/my-echo"
        list "$HOST_TMP/my-echo" sh
        refuses 125 --exec sandbox sh -c 'touch mark'
        FLAGS+=(--exec "$HOST_TMP/my-echo")
        succeeds sandbox "$HOST_TMP/my-echo" hello
        prints hello
        succeeds sandbox sh -c "$HOST_TMP/my-echo again; : >/tmp/other"
        prints again
}

test_a_workspace_below_tmp_keeps_its_listed_script() {
        mkdir "$HOST_TMP"
        printf '#!/bin/sh\necho "$1" && ! (echo >>"$0") 2>/dev/null\n' >"$HOST_TMP/script"
        cp /bin/true "$HOST_TMP/other"
        chmod 755 "$HOST_TMP/script"
        FLAGS=(--workspace "$HOST_TMP" --command "$HOST_TMP/script")
        succeeds sandbox "$HOST_TMP/script" hello
        prints hello
        FLAGS+=(--command sh)
        is_refused sandbox sh -c "$HOST_TMP/other"
}

test_a_program_for_musl_brings_its_loader() {
        local loader
        needs musl-gcc
        loader=$(echo /lib/ld-musl-*.so.1)
        mkdir "$T/musl"
        echo 'int puts(const char *); int main(void) { return puts("hello") < 0; }' >m.c
        musl-gcc -o "$T/musl/hello" m.c
        cp "$T/musl/hello" "$T/musl/other"
        FLAGS=()
        control sandbox sh -c "$loader $T/musl/other"
        prints hello
        list "$T/musl/hello" sh
        succeeds sandbox "$T/musl/hello"
        prints hello
        is_refused sandbox sh -c "$loader $T/musl/other"
        is_refused sandbox sh -c "$(readlink -f "$loader") $T/musl/other"
}

test_libraries_beside_a_program_are_loaded() {
        needs gcc
        mkdir -p "$T/prefix/bin" "$T/prefix/lib" "$T/else"
        echo 'int answer(void) { return 42; }' >a.c
        echo 'int answer(void); int main(void) { return answer(); }' >m.c
        gcc -shared -fPIC -o "$T/prefix/lib/libanswer.so" a.c
        gcc -o "$T/prefix/bin/ask" m.c -L"$T/prefix/lib" -lanswer -Wl,-rpath,"$T/prefix/lib"
        gcc -o "$T/else/ask" m.c -L"$T/prefix/lib" -lanswer -Wl,-rpath,"$T/else"
        cp "$T/prefix/lib/libanswer.so" "$T/else"
        list "$T/prefix/bin/ask" "$T/else/ask"
        exits 42 sandbox "$T/prefix/bin/ask"
        # Elsewhere a library is no code, unless it is said to be.
        exits 127 sandbox "$T/else/ask"
        grep -q 'failed to map' "$T/err" || fail "another reason: $(said)"
        FLAGS+=(--exec "$T/else")
        exits 42 sandbox "$T/else/ask"
}

test_a_file_with_another_name_is_started_from_a_copy() {
        mkdir "$T/bin"
        cp /bin/echo "$T/bin/one"
        ln "$T/bin/one" "$T/bin/two"
        list "$T/bin/one" sh
        succeeds sandbox "$T/bin/one" hello
        prints hello
        is_refused sandbox sh -c "$T/bin/two hello"
        succeeds "$ABATIS" explain "${FLAGS[@]}" -- true
        grep "$T/bin/one" "$T/out" | grep -q 'a copy' || fail "explain does not say that it is a copy"
}

test_many_commands_can_be_listed() {
        local count
        FLAGS=(--command sh)
        mkdir "$T/many"
        for ((count = 0; count < 1500; count++)); do
                printf '#!/bin/sh\nexit 5\n' >"$T/many/tool$count"
                FLAGS+=(--command "$T/many/tool$count")
        done
        chmod 755 "$T"/many/*
        ulimit -n 256
        exits 5 sandbox "$T/many/tool0"
        exits 5 sandbox sh -c "$T/many/tool1499"
        is_refused sandbox sh -c /bin/true
}

test_nothing_is_left_of_it() {
        local before after
        printf '#!/bin/sh\nexit 0\n' >script
        chmod 755 script
        list "$W/script" sh
        before=$(cat /proc/self/mountinfo; listing "$T" | grep -vE "^$T(/out|/err)? ")
        succeeds sandbox ./script
        after=$(cat /proc/self/mountinfo; listing "$T" | grep -vE "^$T(/out|/err)? ")
        [ "$before" = "$after" ] || fail "$(diff <(echo "$before") <(echo "$after") | head -n 3)"
}

# ---- what is refused -------------------------------------------------------------------------------------

test_a_program_that_is_not_listed_is_refused_with_126() {
        list sh
        refuses 126 --command sandbox touch mark
        refuses 126 /usr/bin/touch sandbox /usr/bin/touch mark
        ln -s /usr/bin/touch sh-too
        refuses 126 touch sandbox ./sh-too mark
        exits 127 sandbox no-such-program
        # The result is the same for a program that reads it.
        exits 126 "$ABATIS" run --json --command sh -- touch mark
}

test_a_bad_entry_is_refused_by_name_with_125() {
        mkdir "$T/directory"
        echo text >"$T/text"
        printf '#!/no/such/interpreter\n' >"$T/script"
        printf '\177ELF' >"$T/broken"
        chmod 755 "$T/script" "$T/broken"
        ln -s loop "$T/loop"
        for entry in no-such-program "$T/directory" "$T/text" "$T/script" "$T/broken" "$T/loop" ./relative bin/sh \
                /no/such/program /dev/null; do
                list touch "$entry"
                refuses 125 process.commands sandbox touch mark
                grep -qF -- "$entry" "$T/err" || fail "does not name $entry: $(said)"
                # Nor is it made weaker when weaker is allowed: the list itself is wrong.
                refuses 125 process.commands "$ABATIS" run --best-effort "${FLAGS[@]}" -- touch mark
                refuses 125 process.commands "$ABATIS" explain "${FLAGS[@]}" -- touch mark
        done
        list ''
        refuses 125 --command sandbox touch mark
}

test_a_loader_cannot_be_listed() {
        local loader
        for loader in /lib/ld-linux-*.so.* /lib64/ld-linux-*.so.* /usr/bin/ld.so; do
                [ -x "$loader" ] || continue
                list touch "$loader"
                refuses 125 loader sandbox touch mark
        done
}

test_a_program_that_a_command_could_have_planted_is_not_listed_by_its_name() {
        mkdir bin
        cp /bin/true bin/planted
        cp /bin/touch bin/touch
        PATH=$W/bin:$PATH refuses 125 "$W/bin/planted" "$ABATIS" run --command /usr/bin/touch --command planted -- /usr/bin/touch mark
        PATH=$W/bin:$PATH refuses 125 "$W/bin/touch" "$ABATIS" run --command touch -- /usr/bin/touch mark
        list "$W/bin/planted"
        succeeds sandbox bin/planted
        ln -s /usr/bin/touch link
        list "$W/link"
        refuses 125 /usr/bin/touch sandbox touch mark
}

test_what_could_be_written_is_not_executed_on_demand() {
        mkdir tools
        list touch
        FLAGS+=(--exec "$W/tools")
        refuses 125 "$W/tools" sandbox touch mark
        FLAGS+=(--protect "$W/tools")
        succeeds sandbox touch mark
}

test_a_file_in_memory_is_not_taken_as_stdin() {
        local code='import os, sys
fd = os.memfd_create("x")
os.write(fd, open("/bin/echo", "rb").read())
os.dup2(fd, 0)
os.execv(sys.argv[1], sys.argv[1:])'
        control /usr/bin/python3 -c "$code" "$ABATIS" run -- sh -c '/proc/self/fd/0 ran'
        prints ran
        refuses 125 stdin /usr/bin/python3 -c "$code" "$ABATIS" run --command sh -- sh -c '/proc/self/fd/0 ran; : >mark'
        # Deleted is another matter: nothing starts it.
        echo hello >gone
        exec 3<gone
        rm gone
        list cat
        succeeds sandbox cat <&3
        prints hello
        exec 3<&-
        # Nor does a file that leads through the caller's mounts.
        cp /bin/true other
        FLAGS=()
        control sandbox sh -c 'exec /proc/self/fd/0' <other
        list sh
        is_refused sandbox sh -c 'exec /proc/self/fd/0' <other
        is_refused sandbox sh -c 'exec /proc/self/fd/0' </bin/true
}

# ---- arguments -------------------------------------------------------------------------------------------

test_an_argument_that_names_a_denied_path_is_refused_before_anything_runs() {
        local word
        mkdir deny "$HOME/.ssh"
        echo secret >deny/file
        ln -s deny link
        list sh touch
        for word in "$W/deny/file" deny deny/file ./link/file "$W/../ws/deny" --file=deny/file "of=$W/deny/file" \
                "-I$W/deny"; do
                succeeds sandbox sh -c 'touch mark' sh "$word"
                [ -e mark ] || fail "positive control failed: $word"
                FLAGS+=(--deny "$W/deny")
                refuses 125 filesystem.deny sandbox sh -c 'touch mark' sh "$word"
                grep -q 'argument 4' "$T/err" || fail "does not say which argument: $(said)"
                grep -qF "$W/deny" "$T/err" || fail "does not say which path: $(said)"
                list sh touch
        done
        # shellcheck disable=SC2088 # abatis expands it
        refuses 125 'preset dev' sandbox sh -c 'touch mark' sh '~/.ssh/id'
        # Nothing of the kind without a list.
        FLAGS=(--deny "$W/deny")
        succeeds sandbox sh -c 'touch mark' sh "$W/deny/file"
}

test_harmless_arguments_pass() {
        mkdir deny
        list sh
        FLAGS+=(--deny "$W/deny")
        succeeds sandbox sh -c ':' sh denied -- - '' / .. . '~' "$W" "$W/denyx" --deny=no $'new\nline' "$(seq 5000)" /etc/passwd
        # What is written in a script is not an argument; the path itself is denied all the same.
        is_refused sandbox sh -c '. ./deny/file'
}

# ---- explain and check -----------------------------------------------------------------------------------

test_explain_says_what_starts_and_what_is_not_held() {
        printf '#!/usr/bin/env sh\n' >script
        chmod 755 script
        list "$W/script" ls
        succeeds "$ABATIS" explain "${FLAGS[@]}" -- true
        for word in "process.commands $W/script, ls" 'noexec mounts' 'loader that cannot be started' Landlock seccomp \
                process.check_arguments "start $W/script: listed as" "start $(readlink -f /usr/bin/env): runs '$W/script'" \
                "start $(readlink -f /bin/sh): runs '$W/script'" ': loads ' ': shared libraries' 'not held: '; do
                grep -qF "$word" "$T/out" || fail "does not contain '$word'"
        done
        if grep -qi 'not enforced' "$T/out"; then fail "$(grep -i 'not enforced' "$T/out")"; fi
        succeeds "$ABATIS" explain --json "${FLAGS[@]}" -- true
        json_is "$T/out" '[c for c in r["clauses"] if c["clause"].startswith("process.commands ")][0]["enforced"]'
        json_is "$T/out" '{f["path"] for f in r["commands"]["files"] if f["listed"]} ==
                {"'"$W/script"'", "'"$(readlink -f /bin/ls)"'"}'
        json_is "$T/out" 'all(f["copied"] and "ld" in f["path"] for f in r["commands"]["files"] if not f["starts"])'
        json_is "$T/out" 'len(r["commands"]["not_held"]) == 3 and len(r["commands"]["libraries"]) > 0'
        json_is "$T/out" 'sum(g["execute"] for g in r["landlock"]) == len(r["commands"]["files"])'
        succeeds "$ABATIS" explain --json -- true
        json_is "$T/out" 'r["commands"] is None'
        if "$ABATIS" explain -- true | grep -q '^commands'; then fail "a list that nobody gave"; fi
}

test_the_result_says_that_the_list_was_held() {
        succeeds "$ABATIS" run --json --command true -- true
        json_is "$T/out" '"process.commands true" in r["enforced"] and "process.check_arguments" in r["enforced"]
                and r["not_enforced"] == []'
}

test_check_answers_for_the_list() {
        succeeds "$ABATIS" check execute "$(readlink -f /bin/sh)" --command sh
        succeeds "$ABATIS" check execute /bin/sh --command sh
        exits 1 "$ABATIS" check execute /bin/ls --command sh
        grep -q process.commands "$T/out" || fail "$(<"$T/out")"
        exits 1 "$ABATIS" check execute "$W/any" --command sh
        exits 1 "$ABATIS" check execute /tmp/any --command sh
        succeeds "$ABATIS" check execute "$W/any"
}

main "$@"
