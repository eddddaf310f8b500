#!/bin/bash
# run.sh: what there is of abatis for Windows, compiled by three compilers, and run by wine where wine is honest.
#
#   BUILD=build test/windows/run.sh
#
# wine has no AppContainer: so what is tried of it is that nothing runs without. It keeps of an access list only what becomes a file's
# mode, so entries are tried with everybody's SID; no limits of job objects; and no junctions. On a Windows, `windows.exe
# DIRECTORY` tries all of it, in an empty directory. Which clauses were tried whole is written to $BUILD/verified/wine.tsv.
set -u
here=$(cd "$(dirname "$0")" && pwd)
readonly here uid=4343
BUILD=${BUILD:-$here/../../build}
programs=$BUILD/windows
passed=0 failed=0 skipped=0

ok() { # NAME
        echo "ok $1"
        passed=$((passed + 1))
}

not_ok() { # NAME WHY
        echo "not ok $1 - $2"
        failed=$((failed + 1))
}

skip() { # NAME WHY
        echo "skip $1 - $2"
        skipped=$((skipped + 1))
}

finish() {
        echo "$passed passed, $failed failed, $skipped skipped"
        [ "$failed" -eq 0 ]
        exit
}

# The two bytes that say for which processor a program is, behind "PE" and two NULs.
processor_of() { # FILE
        local start
        start=$(od -A n -t u4 -j 60 -N 4 "$1" | tr -d ' ')
        od -A n -t x1 -j "$start" -N 6 "$1" | tr -d ' \n'
}

compile() { # TARGET PROCESSOR
        local name=${1//-/_} said
        case $1 in
        *-mingw) command -v x86_64-w64-mingw32-gcc >/dev/null || {
                skip "${name}_compiles" "there is no mingw-w64 here (script/setup.sh cross)"
                return
        } ;;
        *-zig) said=$("$here/../../script/fetch.sh" zig 2>&1) || {
                skip "${name}_compiles" "$said"
                return
        } ;;
        esac
        if said=$("$here/../../script/windows.sh" "$programs" "$1" 2>&1); then
                ok "${name}_compiles_without_a_warning"
        else
                not_ok "${name}_compiles_without_a_warning" "$(grep -m 1 -E 'error|warning' <<<"$said" || tail -n 1 <<<"$said")"
                return
        fi
        if [ "$(processor_of "$programs/$1/windows.exe")" = "50450000$2" ]; then
                ok "${name}_is_for_its_processor"
        else
                not_ok "${name}_is_for_its_processor" "$(processor_of "$programs/$1/windows.exe")"
        fi
}

compile x64-mingw 6486
compile x64-zig 6486
compile arm64-zig 64aa

# ---- by wine ----------------------------------------------------------------------------------------------

case $(uname -m) in
aarch64) target=arm64-zig ;;
*) target=x64-mingw ;;
esac
command -v wine >/dev/null || {
        skip what_runs_by_wine "there is no wine here (script/setup.sh wine)"
        finish
}
[ -e "$programs/$target/windows.exe" ] || {
        skip what_runs_by_wine "there is no program for this processor"
        finish
}
scratch=$(mktemp -d /var/tmp/abatis-windows.XXXXXX) || exit 1
user=(env)
if [ "$(id -u)" -eq 0 ]; then
        user=(setpriv "--reuid=$uid" "--regid=$uid" --clear-groups)
        chown $uid:$uid "$scratch"
fi
cp "$programs/$target/windows.exe" "$scratch"
chmod 755 "$scratch/windows.exe"

# Only this prefix' server, and with it all that runs in it.
clean() {
        as_user wineserver -k >/dev/null 2>&1
        rm -rf "$scratch"
}
trap clean EXIT

as_user() { # COMMAND...
        # Modes that say nothing of everybody, so that an entry for everybody is one of the tests'.
        (umask 077 && cd "$scratch" &&
                exec "${user[@]}" env -i "PATH=$PATH" "HOME=$scratch" "WINEPREFIX=$scratch/prefix" LC_ALL=C.UTF-8 WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml= \
                        timeout -s KILL 240 "$@" </dev/null)
}

windows() { # WORD...
        as_user wine ./windows.exe "$@" 2>"$scratch/stderr" | tr -d '\r'
}

# Z: is this machine's root.
path() { # NAME
        echo "Z:$scratch/$1"
}

await_file() { # FILE: until something is in it
        local i
        for ((i = 0; i < 600; i++)); do
                [ ! -s "$1" ] || return 0
                sleep 0.1
        done
        return 1
}

as_user wine wineboot -i >"$scratch/boot" 2>&1
if ! windows doctor >"$scratch/doctor" || ! grep -q ', by wine$' "$scratch/doctor"; then
        skip what_runs_by_wine "wine does not start: $(tail -n 1 "$scratch/boot")"
        finish
fi
if grep -q '^appcontainer: this Windows has no AppContainer' "$scratch/doctor"; then
        ok the_doctor_knows_that_there_are_no_containers
else
        not_ok the_doctor_knows_that_there_are_no_containers "$(grep '^appcontainer' "$scratch/doctor")"
fi

"${user[@]}" mkdir -m 700 "$scratch/world"
windows "$(path world)" >"$scratch/report"
grep -q '^complete$' "$scratch/report" || echo "not ok runs_to_its_end - $(tail -n 1 "$scratch/report")" >>"$scratch/report"
grep -E '^(ok|not ok|skip|#) ' "$scratch/report"
passed=$((passed + $(grep -c '^ok ' "$scratch/report")))
failed=$((failed + $(grep -c '^not ok ' "$scratch/report")))
skipped=$((skipped + $(grep -c '^skip ' "$scratch/report")))

# ---- when abatis is killed --------------------------------------------------------------------------------

# The process of the system's that is this program, by a word that no other has on its command line.
kill_program() { # WORD
        local pid
        for pid in $(pgrep -f "windows.exe $1 Z:$scratch/"); do
                # timeout and the shells in between have it there too; the program's own name says which it is.
                [[ $(cat "/proc/$pid/comm" 2>/dev/null) != windows.exe* ]] || kill -KILL "$pid"
        done
}

number=$scratch/number
windows hold "$(path number)" >"$scratch/hold" &
holder=$!
if await_file "$number" && [ "$(windows lives "$(cat "$number")")" = yes ]; then
        ok a_command_and_its_child_run
else
        not_ok a_command_and_its_child_run "$(cat "$scratch/hold" "$scratch/stderr")"
fi
kill_program hold
wait $holder
gone=no
for ((i = 0; i < 100; i++)); do
        [ $gone = no ] || break
        [ "$(windows lives "$(cat "$number")")" = yes ] || gone=yes
done
if [ $gone = yes ]; then ok killed_with_abatis_they_end; else not_ok killed_with_abatis_they_end "its child lives"; fi

"${user[@]}" mkdir -m 700 "$scratch/journal" "$scratch/tree"
# Not through a pipe, which would keep what it says.
as_user wine ./windows.exe journal "$(path journal)" "$(path tree)" >"$scratch/name" 2>/dev/null &
keeper=$!
await_file "$scratch/name"
name=$(tr -d '\r' <"$scratch/name")
replayed=$(windows replay "$(path journal)")
if [ "$replayed" = "undone 0, alive 1, refused 0" ] && [ -e "$scratch/journal/$name.journal" ]; then
        ok the_journal_of_a_living_abatis_is_left_alone
else
        not_ok the_journal_of_a_living_abatis_is_left_alone "$replayed"
fi
kill_program journal
wait $keeper
# wine's server ends with its last program, and who comes at that moment is not served.
for ((i = 0; i < 5; i++)); do
        replayed=$(windows replay "$(path journal)")
        [ -z "$replayed" ] || break
done
if [ "$replayed" = "undone 1, alive 0, refused 0" ] && [ ! -e "$scratch/journal/$name.journal" ]; then
        ok that_of_a_killed_one_is_undone
else
        not_ok that_of_a_killed_one_is_undone "$replayed"
fi

# shellcheck source-path=SCRIPTDIR source=program.sh
. "$here/program.sh"

# What holds these needs no container, and is the same with one.
if [ "$failed" -eq 0 ]; then
        mkdir -p "$BUILD/verified"
        {
                echo "# $(as_user wine --version 2>/dev/null | cut -d ' ' -f 1 | tr -d '\r')"
                for clause in process.lifetime process.privileges process.descriptors limits.timeout limits.output; do
                        printf '%s\tappcontainer\theld\twine\n' "$clause"
                done
        } >"$BUILD/verified/wine.tsv"
fi
finish
