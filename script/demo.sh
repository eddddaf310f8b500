#!/bin/bash
# demo.sh: shows in a few seconds what abatis lets a command do and what it refuses, and fails if it refuses too little.
#
#   script/demo.sh [ABATIS]        (default: build/abatis)
#
# Everything happens in a scratch home directory that is removed at the end: a project under git, and a made-up
# secret key. Each thing that must be refused is first done without abatis, where it must work: a refusal that
# would have happened anyway shows nothing.
# shellcheck disable=SC2016 # much here is quoted for a shell inside the sandbox to expand
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
abatis=${1:-${ABATIS:-$root/build/abatis}}
[[ $abatis == /* ]] || abatis=$PWD/$abatis
"$root/script/setup.sh" demo || exit 1
[ -x "$abatis" ] || {
        echo "demo: '$abatis' is not there; run make first" >&2
        exit 1
}

bold='' green='' red='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR-}" ] && [ "${TERM-dumb}" != dumb ]; then
        bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' dim=$'\e[2m' plain=$'\e[0m'
fi

# Not below /tmp: the sandbox has a /tmp of its own, where the key would be missing instead of refused.
scratch=$(mktemp -d /var/tmp/abatis-demo.XXXXXX) || exit 1
listener=''
clean_up() {
        if [ -n "$listener" ]; then
                kill "$listener" 2>/dev/null
                wait "$listener" 2>/dev/null
        fi
        rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

failures=0

heading() { # TEXT
        printf '\n%s%s%s\n' "$bold" "$1" "$plain"
}

report() { # good|bad WHAT RESULT
        local mark="${green}ok  ${plain}"
        if [ "$1" = bad ]; then
                mark="${red}FAIL${plain}"
                failures=$((failures + 1))
        fi
        printf '  %s  %-46s %s%s%s\n' "$mark" "$2" "$dim" "$3" "$plain"
}

# The last line that a command printed, without the names of the scratch directories.
last_words() { # OUTPUT
        local line=${1##*$'\n'}
        line=${line//$HOME/\~}
        printf '%.90s' "$line"
}

# Something that ordinary work needs, and that must work inside.
works() { # WHAT COMMAND...
        local what=$1 output status
        shift
        output=$("$abatis" run --timeout 20s -- "$@" 2>&1)
        status=$?
        if [ "$status" -eq 0 ]; then
                report good "$what" "works: $(last_words "$output")"
        else
                report bad "$what" "exit $status: $(last_words "$output")"
        fi
}

# Something that must work outside and be refused inside. UNDO removes what the attempt outside left behind;
# TRACE says (exit 0) that the attempt inside had its effect, whatever the command's exit code claims.
refused() { # WHAT UNDO TRACE SHELL-COMMAND
        local what=$1 undo=$2 trace=$3 attempt=$4 output status
        if ! output=$(bash -c "$attempt" 2>&1); then
                report bad "$what" "does not even work outside: $(last_words "$output")"
                return
        fi
        eval "$undo"
        output=$("$abatis" run --timeout 20s -- bash -c "$attempt" 2>&1)
        status=$?
        if [ "$status" -eq 0 ] || [ "$status" -eq 125 ] || eval "$trace"; then
                report bad "$what" "exit $status: $(last_words "$output")"
        else
                report good "$what" "refused: $(last_words "${output##*: }")"
        fi
        eval "$undo"
}

# ---- the scratch home: a key, and a project under git ----

unset XDG_CONFIG_HOME GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export HOME=$scratch/home LC_ALL=C
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=demo GIT_AUTHOR_EMAIL=demo@example.org
export GIT_COMMITTER_NAME=demo GIT_COMMITTER_EMAIL=demo@example.org
project=$HOME/project
mkdir -p "$HOME/.ssh" "$project"
chmod 700 "$HOME/.ssh"
echo 'MADE-UP-PRIVATE-KEY' >"$HOME/.ssh/id_ed25519"
chmod 600 "$HOME/.ssh/id_ed25519"
cd "$project" || exit 1
printf '#include <stdio.h>\nint main(void)\n{\n\tputs("hello");\n\treturn 0;\n}\n' >hello.c
printf 'CC = %s\nhello: hello.c\n\t$(CC) -o $@ $<\n' "$(command -v cc || command -v gcc || command -v clang)" >Makefile
git init --quiet

printf '%sabatis runs commands in a sandbox.%s This is %s as %s, in a scratch project.\n' \
        "$bold" "$plain" "$("$abatis" --version)" "$(id -un 2>/dev/null || true)"

# Without the means to hold the policy, every line below would fail for the same reason: say it once, and how to fix it.
if ! output=$("$abatis" run -- true 2>&1); then
        printf '%s\n\n' "$output"
        "$abatis" doctor
        exit 1
fi

heading "Ordinary work goes on:"
works "make, then run what was built" sh -c 'make >make.log && ./hello'
works "git add, commit, status" sh -c 'git add hello.c Makefile && git commit --quiet -m first && git log --oneline'
works "temporary files" sh -c 'f=$(mktemp) && echo private >"$f" && rm "$f" && echo "$f"'

heading "What would do harm is refused:"
refused "read ~/.ssh/id_ed25519" : \
        '[[ $output == *MADE-UP* ]]' \
        'cat ~/.ssh/id_ed25519'
refused "write ~/.bashrc, outside the project" 'rm -f ~/.bashrc' \
        '[ -e ~/.bashrc ]' \
        'echo "echo planted" >~/.bashrc'
refused "plant a git hook" 'rm -f .git/hooks/pre-commit' \
        '[ -e .git/hooks/pre-commit ]' \
        'mkdir -p .git/hooks && echo "echo planted" >.git/hooks/pre-commit'
refused "make git run a program (git config)" 'git config --unset core.fsmonitor' \
        'git config core.fsmonitor' \
        'git config core.fsmonitor ./planted'

# The system's own python: one that a version manager keeps in the home directory is out of reach of the scratch home.
python=/usr/bin/python3
[ -x "$python" ] || python=python3
# A listener on the loopback stands for the network: it is there on every machine.
"$python" -c '
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    server.accept()[0].close()
' >"$scratch/port" 2>/dev/null &
listener=$!
for _ in $(seq 50); do
        [ -s "$scratch/port" ] && break
        sleep 0.1
done
refused "connect to a port" : false "exec 3<>/dev/tcp/127.0.0.1/$(cat "$scratch/port")"

export DEMO_API_KEY=made-up-token
refused "see the variable DEMO_API_KEY" : \
        '[[ $output == *made-up* ]]' \
        'echo "${DEMO_API_KEY:?not set}"'
unset DEMO_API_KEY

# A process outside, found by its number: inside, that number is somebody else or nobody.
refused "look at a process outside" : \
        '[[ $output == *create_server* ]]' \
        "tr '\\0' ' ' </proc/$listener/cmdline | grep -a create_server"

heading "Nothing outlives its command:"
# The daemon leaves the session and its parent, and would write a line every tenth of a second for half a minute.
daemon='for i in $(seq 300); do echo beat; sleep 0.1; done >beats'
"$abatis" run --timeout 1s -- sh -c "setsid sh -c '$daemon' >/dev/null 2>&1 & sleep 30" >/dev/null 2>&1
status=$?
before=$(wc -l <beats)
sleep 0.6
after=$(wc -l <beats)
if [ "$status" -eq 124 ] && [ "$before" -gt 0 ] && [ "$before" -eq "$after" ]; then
        report good "a daemon, after --timeout 1s" "dead: exit 124, no sign of life since"
else
        report bad "a daemon, after --timeout 1s" "exit $status, $before beats at the timeout, $after a little later"
fi

heading "Which rule decides, and how it is enforced:"
printf '  %s$ abatis check read ~/.ssh/id_ed25519%s\n' "$dim" "$plain"
"$abatis" check read "$HOME/.ssh/id_ed25519" 2>&1 | sed "s|^|    |; s|$HOME|~|g"
printf '  %s$ abatis explain -- make%s        (only its clauses here; the steps, in order, follow them)\n' "$dim" "$plain"
"$abatis" explain -- make 2>&1 | sed -n "/^clauses/,/^\$/{/^ /{s|$HOME|~|g; s|^|  |; p;};}"

heading "What a launch costs:"
# The median, in microseconds, of 51 launches of a program that does nothing, the shell's own fork included.
time_launches() { # COMMAND...
        local begin
        for _ in {1..51}; do
                begin=${EPOCHREALTIME/[.,]/}
                "$@" >/dev/null 2>&1
                echo $((${EPOCHREALTIME/[.,]/} - begin))
        done | sort -n | sed -n 26p
}
true_program=$(type -P true)
direct=$(time_launches "$true_program")
inside=$(time_launches "$abatis" run -- "$true_program")
printf '  %d.%03d ms inside, %d.%03d ms without (median of 51, shell included; make bench measures it properly)\n' \
        $((inside / 1000)) $((inside % 1000)) $((direct / 1000)) $((direct % 1000))

if [ "$failures" -gt 0 ]; then
        printf '\n%s%d of the above did not go as it must.%s\n' "$red" "$failures" "$plain"
        exit 1
fi
printf '\n%sAll of it as it must be.%s Try your own:  build/abatis run -- COMMAND\n' "$green" "$plain"
