#!/bin/bash
# run.sh: what is held by asking the broker: patterns, paths that do not exist yet, denied paths in writable trees.
#
#   MODES="user none" test/broker/run.sh [NAME-PATTERN]
#
# Everything runs with namespaces and without ("none"), as an ordinary user and as root. reach.py tries every way to a file, and each
# way must lead to one that no rule is about.
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
ABATIS=${ABATIS:-$BUILD/abatis}
PATTERN=${1:-*}
readonly ORDINARY_UID=4343
ROUNDS=${ROUNDS:-100000}

# In a mount namespace where another /proc lies in the workspace: see another_proc_is_not_read.
if [[ ${1-} == --in-mount ]]; then
        ID=$2 MODE=$3 T=$4
        cd "$T/world/ws" || exit 1
        sleep 100 &
        other=$!
        for file in environ maps; do
                "$T/bin/enter" "$ID" "$MODE" /usr/bin/env HOME="$T/world/home" "$T/bin/abatis" run --no-audit --deny-glob '**/.env' -- \
                        sh -c 'cat proc/self/comm || cat "proc/$1/'$file'" || cat "proc/$PPID/'$file'"' sh "$other" \
                        >"$T/got" 2>/dev/null
                [[ -s $T/got ]] && echo reached || echo kept
        done | xargs
        kill "$other"
        exit
fi

T=$(mktemp -d /var/tmp/abatis-broker.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
chmod 755 "$T"
mkdir "$T/bin"
flags=(-std=gnu11 -O1 -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror -pthread -static)
"${CC:-cc}" "${flags[@]}" -o "$T/bin/race" race.c &&
        "${CC:-cc}" "${flags[@]}" -o "$T/bin/locks" locks.c &&
        "${CC:-cc}" "${flags[@]}" -o "$T/bin/enter" ../tree/enter.c &&
        cp "$ABATIS" "$T/bin/abatis" && chmod 755 "$T/bin/abatis" &&
        cp reach.py ../bare/names.py ../bare/terminals.py "$T/bin/" || exit 1
WAYS=$(python3 -B reach.py list)

# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh

own() { ((EUID)) || chown -Rh "$ID:$ID" "$T/world"; }
fresh() {
        chmod -R u+rwx "$T/world" 2>/dev/null
        rm -rf "$T/world"
        mkdir -p "$T"/world/{ws/room,home,out}
        echo content >"$T/world/ws/file"
        own
}
# A file for every way, below a directory, with this content.
plant() { # DIRECTORY NAME CONTENT
        local way
        for way in $WAYS; do
                mkdir -p "$1/$way"
                echo "$3" >"$1/$way/$2"
        done
        own
}

# Runs a command in this mode's world, outside any sandbox; what it prints comes into TEXT.
outside() {
        local code
        TEXT=$(cd "$T/world/ws/room" && HOME=$T/world/home XDG_STATE_HOME='' TMPDIR='' \
                timeout -s KILL 100 "$T/bin/enter" "$ID" "$MODE" /usr/bin/env "$@" 2>&1 </dev/null)
        code=$?
        return "$code"
}
inside() { # FLAG... -- COMMAND...
        outside "$T/bin/abatis" run --no-audit --workspace "$T/world/ws" "$@"
}
reach() { # TEMPLATE FLAG...: every way to the files
        local template=$1
        shift
        inside "$@" -- python3 -B "$T/bin/reach.py" "$template" secret-of-mine
}
judge() { # NAME reached|kept: each way in TEXT is a test
        local way result seen=0
        while read -r way result; do
                [[ $way == [a-z]* && $result =~ ^(reached|kept)$ ]] || continue
                seen=$((seen + 1))
                if [[ $result == "$2" ]]; then ok "$1_by_$way$AS"; else not_ok "$1_by_$way$AS" "$result"; fi
        done <<<"$TEXT"
        [[ $seen == $(wc -w <<<"$WAYS") ]] || not_ok "$1$AS" "only $seen ways: ${TEXT:0:300}"
}

test_reach() {
        local ws=$T/world/ws
        if wants "plain_file_is_reached$AS"; then
                fresh
                plant "$ws/plain" visible secret-of-mine
                reach "$ws/plain/WAY/visible" --deny-glob '**/.env'
                judge plain_file_is_reached reached
        fi
        if wants "match_is_kept$AS"; then
                fresh
                plant "$ws/tree" .env secret-of-mine
                reach "$ws/tree/WAY/.env" --deny-glob '**/.env'
                judge match_is_kept kept
        fi
        if wants "match_of_a_longer_pattern_is_kept$AS"; then
                fresh
                plant "$ws/keys" .env secret-of-mine
                reach "$ws/keys/WAY/.env" --deny-glob "$ws/keys/*/.env"
                judge match_of_a_longer_pattern_is_kept kept
        fi
        if wants "below_a_matching_directory_is_kept$AS"; then
                fresh
                plant "$ws/vault" key secret-of-mine
                reach "$ws/vault/WAY/key" --deny-glob '**/vault'
                judge below_a_matching_directory_is_kept kept
        fi
        if wants "denied_directory_of_the_workspace_is_kept$AS"; then
                fresh
                plant "$ws/there" key secret-of-mine
                reach "$ws/there/WAY/key" --deny "$ws/there"
                judge denied_directory_of_the_workspace_is_kept kept
        fi
}

# Starts the command, lets somebody outside act, and lets the command try.
later() { # ACTION TEMPLATE FLAG...
        local action=$1 template=$2 out=$T/later.out job
        shift 2
        (cd "$T/world/ws/room" && HOME=$T/world/home XDG_STATE_HOME='' TMPDIR='' timeout -s KILL 100 "$T/bin/enter" "$ID" \
                "$MODE" /usr/bin/env "$T/bin/abatis" run --no-audit --workspace "$T/world/ws" "$@" -- \
                sh -c ': >started; exec python3 -B "$@"' sh "$T/bin/reach.py" "$template" secret-of-mine \
                "$T/world/ws/go") >"$out" 2>&1 </dev/null &
        job=$!
        for _ in {1..500}; do
                [[ -e $T/world/ws/room/started ]] && break
                sleep 0.01
        done
        "$action"
        : >"$T/world/ws/go"
        wait "$job"
        TEXT=$(<"$out")
}
make_files() { plant "$T/world/ws/late" .env secret-of-mine; }
rename_files() {
        plant "$T/world/out/late" .env secret-of-mine
        mv "$T/world/out/late" "$T/world/ws/late"
}
link_files() {
        local way
        for way in $WAYS; do
                mkdir -p "$T/world/ws/late/$way"
                echo secret-of-mine >"$T/world/out/$way"
                ln "$T/world/out/$way" "$T/world/ws/late/$way/.env"
        done
        own
}
test_later() {
        local ws=$T/world/ws action
        for action in make rename link; do
                wants "match_that_others_${action}_later_is_kept$AS" || continue
                fresh
                later "${action}_files" "$ws/late/WAY/.env" --deny-glob '**/.env'
                judge "match_that_others_${action}_later_is_kept" kept
        done
        if wants "absent_directory_that_others_make_later_is_kept$AS"; then
                fresh
                later make_files "$ws/late/WAY/.env" --deny "$ws/late"
                judge absent_directory_that_others_make_later_is_kept kept
        fi
        if wants "plain_file_that_others_make_later_is_reached$AS"; then
                fresh
                later make_files "$ws/late/WAY/.env" --deny-glob '**/unrelated'
                judge plain_file_that_others_make_later_is_reached reached
        fi
}

# The command itself cannot make what is denied or protected, by any call that makes a name.
test_making() {
        local name=what_is_denied_or_protected_is_not_made$AS
        wants "$name" || return
        fresh
        inside --deny-glob '**/.env' --deny "$T/world/ws/room/absent" --protect "$T/world/ws/room/later/kept" -- sh -c '
                for name in .env absent later/kept; do
                        mkdir -p later
                        (: >"$name") && exit 3
                        mkdir "$name" && exit 4
                        mkfifo "$name" && exit 5
                        ln -s /etc/passwd "$name" && exit 6
                        echo mine >mine && ln mine "$name" && exit 7
                        mv mine "$name" && exit 8
                        mkdir -p dir && mv -T dir "$name" && exit 9
                        # The control: beside it all of them work.
                        plain=$(dirname "$name")/plain
                        : >"$plain" && rm "$plain" && mkdir "$plain" && rmdir "$plain" && mkfifo "$plain" && rm "$plain" &&
                                ln -s /etc/passwd "$plain" && rm "$plain" && echo mine >mine && ln mine "$plain" &&
                                rm "$plain" && mv mine "$plain" && rm "$plain" && mv -T dir "$plain" && rmdir "$plain" ||
                                exit 10
                done 2>/dev/null
                mv later moved 2>/dev/null && exit 11
                echo done'
        check "$name" $? "$TEXT"
        name=nothing_is_left_in_the_tree$AS
        [[ $(find "$T/world/ws" | sort | tr '\n' ' ') == "$T/world/ws $T/world/ws/file $T/world/ws/room $T/world/ws/room/later " ]]
        check "$name" $? "$(find "$T/world/ws")"
}

# A directory whose new name would lead out of the pattern stays where it is; others move.
test_moving() {
        local name=directories_do_not_lead_out_of_a_pattern$AS
        wants "$name" || return
        fresh
        mkdir -p "$T/world/ws/conf/sub" "$T/world/ws/free"
        echo secret-of-mine >"$T/world/ws/conf/a.key"
        own
        inside --deny-glob "$T/world/ws/conf/*.key" -- sh -c '
                cd "$1" && mv conf other 2>/dev/null && exit 3
                cat conf/a.key 2>/dev/null && exit 4
                mv free moved && mv file renamed && mv conf/sub conf/next && echo done' sh "$T/world/ws"
        check "$name" $? "$TEXT"
}

test_races() {
        local ws=$T/world/ws kind name
        for kind in string link descriptor; do
                name=open_is_not_swapped_by_${kind}$AS
                wants "$name" || continue
                fresh
                mkdir "$ws/a" "$ws/b"
                printf a >"$ws/a/name"
                printf d >"$ws/b/name"
                own
                inside --deny-glob "$ws/b/*" -- "$T/bin/race" "$kind" "$ws/a/name" "$ws/b/name" "$ROUNDS"
                check "$name" $? "$TEXT"
        done
        name=open_is_not_swapped_by_parent$AS
        wants "$name" || return
        fresh
        mkdir "$ws/room/left" "$ws/room/right"
        printf a >"$ws/room/left/name"
        printf d >"$ws/room/right/name"
        own
        inside --deny-glob "$ws/room/right/*" -- "$T/bin/race" parent x x "$ROUNDS"
        check "$name" $? "$TEXT"
}

# Whatever a program does to names, it gets the same when the broker is asked about all of them.
test_names() {
        local name=names_are_made_the_same_by_asking$AS expected
        wants "$name" || return
        fresh
        mkdir "$T/world/ws/room/play"
        own
        inside -- python3 -B "$T/bin/names.py"
        expected=$TEXT
        fresh
        mkdir "$T/world/ws/room/play"
        own
        inside --deny-glob '**/nobody-has-this' -- python3 -B "$T/bin/names.py"
        if [[ $TEXT == "$expected" && $(wc -l <<<"$TEXT") -gt 120 ]]; then
                ok "$name"
        else
                not_ok "$name" "$(diff <(echo "$expected") <(echo "$TEXT") | head -n 6 | tr '\n' ' ')"
        fi
}

works() { # NAME SCRIPT: with a pattern, this runs as it does without
        local name=$1$AS
        wants "$name" || return
        fresh
        inside --deny-glob '**/.env' -- sh -euc "$2"
        check "$name" $? "$TEXT"
}
test_work() {
        works pipes_with_names_wait_for_each_other '
                mkfifo p
                for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
                        cat p >got & echo $i >p; wait; [ "$(cat got)" = $i ]
                done
                (sleep 0.2; cat p >got) & echo late >p; wait; [ "$(cat got)" = late ]'
        works pipes_are_free_when_who_waited_was_killed '
                i=0
                while [ $i -lt 40 ]; do
                        mkfifo f$i; cat f$i & sleep 0.01; kill -KILL $!; wait $! 2>/dev/null || true; i=$((i + 1))
                done
                (sleep 0.2; cat f7 >got) & timeout 5 sh -c "echo late >f7"; wait; [ "$(cat got)" = late ]'
        works what_was_just_written_is_executed '
                i=0
                while [ $i -lt 100 ]; do
                        printf "#!/bin/sh\nexit 7\n" >s; chmod 755 s; ./s && exit 1; rm s; i=$((i + 1))
                done'
        works locks_are_free_when_they_were_left '
                i=0
                while [ $i -lt 100 ]; do flock -n lock true; i=$((i + 1)); done'
        works locks_go_with_the_file "
                '$T/bin/locks' l 2000"
        works processes_see_themselves '
                [ "$(cat /proc/self/comm)" = cat ]
                grep -q ^Name:.*grep /proc/self/status
                [ "$(head -c 4 /proc/self/exe | tail -c 3)" = ELF ]
                cat /proc/mounts >/dev/null; cat /proc/net/dev >/dev/null; ls /proc/self/fd >/dev/null
                [ "$(echo hi | cat /dev/stdin)" = hi ]; (echo hi >/dev/stdout) | grep -q hi; cd /proc && grep -q ^Name:.*grep self/status'
        works programs_are_compiled '
                printf "#include <stdio.h>\nint main(void) { puts(\"works\"); return 0; }\n" >a.c
                cc -o a a.c && [ "$(./a)" = works ]'
        works repositories_are_worked_on '
                export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="*"
                git init -q . && echo x >f && git add f && git -c user.name=n -c user.email=e@x commit -qm m &&
                        git status --short && git gc -q && git log --format=%s'
        works databases_are_locked_and_written '
                python3 -B -c "
import sqlite3
a, b = sqlite3.connect(\"d\"), sqlite3.connect(\"d\", timeout=0)
a.execute(\"create table t (x)\")
a.execute(\"begin immediate\")
try:
    b.execute(\"begin immediate\")
    raise SystemExit(3)
except sqlite3.OperationalError:
    pass
a.execute(\"insert into t values (1)\")
a.commit()
b.execute(\"begin immediate\")
raise SystemExit(b.execute(\"select count(*) from t\").fetchone()[0] - 1)"'
        works many_ask_at_once '
                for i in 1 2 3 4 5 6 7 8; do
                        (for j in 1 2 3 4 5 6 7 8 9 10; do cat /etc/passwd >o$i; mv o$i p$i; rm p$i; done) &
                done
                wait; [ -z "$(ls)" ]'
}

# Who answers is not counted as one of the command's processes.
test_processes() {
        local name=broker_takes_no_process_from_the_command$AS
        [[ $MODE == user && $ID != 0 ]] && wants "$name" || return
        fresh
        inside --processes 5 --deny-glob '**/.env' -- python3 -B -c '
import os, time
count = 1
try:
    while count < 50:
        if not os.fork():
            time.sleep(1)
            os._exit(0)
        count += 1
except OSError:
    pass
raise SystemExit(count - 5)'
        check "$name" $? "$TEXT"
}

# The terminal is opened by its name, by whoever has it.
test_terminal() {
        local name=terminal_is_opened_by_its_name$AS flag
        if wants "$name"; then
                fresh
                inside --deny-glob '**/.env' --pty -- sh -c 'echo to-the-terminal >/dev/tty'
                [[ $TEXT == *to-the-terminal* ]]
                check "$name" $? "$TEXT"
        fi
        # Who has another one of its own means that.
        for flag in '' --pty; do
                name=terminals_are_made${flag:+_on_a_terminal}$AS
                wants "$name" || continue
                fresh
                inside --deny-glob '**/.env' ${flag:+"$flag"} -- python3 -B "$T/bin/terminals.py"
                [[ $(grep -c '^ok ' <<<"$TEXT") == 10 ]]
                check "$name" $? "$TEXT"
        done
}

# What init may see and the command may not, the broker does not open: it is asked by every number there is.
test_init() {
        local name=nothing_of_init_is_shown$AS proc=$T/world/ws/proc
        if wants "$name"; then
                fresh
                outside MYTOKEN_SECRET=secret-of-caller "$T/bin/abatis" run --no-audit --workspace "$T/world/ws" \
                        --deny-glob '**/.env' -- python3 -B -c '
import os, sys
own = {str(os.getpid()), "self", "thread-self"}
seen = 0
for number in list(map(str, range(1, 40))) + os.listdir("/proc") + [str(os.getppid() + i) for i in range(8)]:
    for name in ("environ", "maps", "mem", "auxv", "fd", "task/" + number + "/environ", "cwd", "root"):
        try:
            fd = os.open(f"/proc/{number}/{name}", os.O_RDONLY)
        except OSError:
            continue
        if number in own:
            seen += 1
        elif number.isdigit():
            sys.exit(f"/proc/{number}/{name} was opened")
        os.close(fd)
sys.exit(0 if seen >= 8 and "MYTOKEN_SECRET" not in os.environ else f"{seen} of its own")'
                check "$name" $? "$TEXT"
        fi
        name=another_proc_is_not_read$AS
        if wants "$name" && ((!EUID)) && [[ $MODE == none ]]; then
                fresh
                mkdir "$proc"
                TEXT=$(unshare -m sh -c 'mount --bind /proc "$1" && shift && exec "$@"' sh "$proc" "$PWD/run.sh" --in-mount "$ID" "$MODE" \
                        "$T" 2>&1)
                [[ $TEXT == "kept kept" ]]
                check "$name" $? "$TEXT"
        fi
        name=limits_of_init_stay$AS
        if wants "$name"; then
                fresh
                inside --deny-glob '**/.env' -- python3 -B -c '
import os, resource, sys
resource.prlimit(0, resource.RLIMIT_NOFILE, (500, 500))
resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, (400, 400))
for number in [1, 2, 3, 4, 5, 6, os.getppid(), os.getppid() + 1]:
    if number != os.getpid():
        try:
            resource.prlimit(number, resource.RLIMIT_NOFILE, (0, 0))
            sys.exit(f"those of {number} were set")
        except OSError:
            pass'
                check "$name" $? "$TEXT"
        fi
}

# Whoever started abatis has a terminal; the command has none, or its own.
test_callers_terminal() {
        local name=terminal_of_the_caller_is_not_opened$AS
        wants "$name" || return
        fresh
        TEXT=$(cd "$T/world/ws" && HOME=$T/world/home XDG_STATE_HOME='' timeout -s KILL 20 script -qec \
                "$T/bin/enter $ID $MODE /usr/bin/env $T/bin/abatis run --no-audit --deny-glob '**/.env' -- python3 -B -c \
'import os
for flags in (os.O_RDONLY, os.O_RDWR):
    try:
        os.write(os.open(\"/dev/tty\", flags), b\"it-was-opened\")
    except OSError as problem:
        open(\"said\", \"a\").write(problem.strerror + \";\")' </dev/null >/dev/null 2>&1" /dev/null 2>&1 </dev/null)
        [[ $TEXT != *it-was-opened* && $(<"$T/world/ws/said") == "No such device or address;No such device or address;" ]]
        check "$name" $? "$TEXT $(cat "$T/world/ws/said" 2>&1)"
}

# What the command makes elsewhere does not come to match, and a link of a denied name is not followed.
test_planting() {
        local name=nothing_is_planted_where_a_pattern_matches$AS ws=$T/world/ws
        if wants "$name"; then
                fresh
                inside --deny-glob "$ws/conf/*.key" --deny-glob "$ws/*/secret.txt" -- sh -c '
                        cd "$1" && mkdir x y && echo p >x/a.key && mkdir -p a/b && echo p >a/b/secret.txt
                        mv x conf && exit 3
                        ln -s y conf && exit 4
                        ln -s y link && mv link conf && exit 5
                        mv a/b new && exit 6
                        touch conf2 && mkdir a/z && mv a/z a/other || exit 7
                        mkdir conf && echo p >conf/plain && echo done' sh "$ws" 2>/dev/null
                check "$name" $? "$TEXT"
        fi
        name=link_of_a_denied_name_is_not_followed$AS
        if wants "$name"; then
                fresh
                echo settings >"$ws/plain"
                ln -s plain "$ws/.env"
                ln -s plain "$ws/free"
                own
                inside --deny-glob '**/.env' -- sh -c 'cat "$1/free" && ! cat "$1/.env" && ! (echo x >"$1/.env")' sh "$ws"
                check "$name" $? "$TEXT"
        fi
}

# Whoever kills abatis finds nothing in his tree that was not there.
test_kill() {
        local name=nothing_is_left_when_abatis_is_killed$AS before
        wants "$name" || return
        fresh
        before=$(find "$T/world" | sort)
        for delay in 0.000 0.001 0.002 0.004 0.05; do
                (cd "$T/world/ws" && HOME=$T/world/home XDG_STATE_HOME='' exec "$T/bin/enter" "$ID" "$MODE" /usr/bin/env \
                        "$T/bin/abatis" run --no-audit --deny "$T/world/ws/absent/one" --deny-glob '**/.env' -- \
                        sleep 100) >/dev/null 2>&1 </dev/null &
                sleep "$delay"
                kill -KILL $!
                wait $! 2>/dev/null
        done
        sleep 0.1
        [[ $(find "$T/world" | sort) == "$before" ]]
        check "$name" $? "$(diff <(echo "$before") <(find "$T/world" | sort))"
}

run_all() { # UID NAME MODE
        ID=$1 MODE=$3 AS=_as_$2
        [[ $MODE == user ]] || AS+=_without_namespaces
        test_reach
        test_later
        test_making
        test_moving
        test_races
        test_names
        test_work
        test_processes
        test_terminal
        test_init
        test_callers_terminal
        test_planting
        test_kill
}

for MODE in ${MODES:-user none}; do
        if ((EUID)); then
                run_all "$EUID" user "$MODE"
        else
                run_all "$ORDINARY_UID" user "$MODE"
                run_all 0 root "$MODE"
        fi
done
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
