#!/bin/bash
# run.sh: where user namespaces are forbidden, the default policy still holds: by Landlock, the filter and the broker.
#
#   test/bare/run.sh [NAME-PATTERN]
#
# The attempts of test/escape run there too, as its third pass; here is what that pass does not ask: that what is allowed
# works, that nothing wins a race against the broker, and what is refused by name.
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
ABATIS=${ABATIS:-$BUILD/abatis}
PATTERN=${1:-*}
readonly ORDINARY_UID=4343
# Of races: of calls, and of such that change the tree, which take ten times as long.
ROUNDS=${ROUNDS:-100000} SLOW_ROUNDS=${SLOW_ROUNDS:-5000}

T=$(mktemp -d /var/tmp/abatis-bare.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T" "/tmp/bare-of-others.$$"' EXIT
chmod 755 "$T"
mkdir "$T/bin" "$T/out"
flags=(-std=gnu11 -O1 -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror -pthread -static)
"${CC:-cc}" "${flags[@]}" -o "$T/bin/changes" changes.c &&
        "${CC:-cc}" "${flags[@]}" -o "$T/bin/terminals" terminals.c &&
        "${CC:-cc}" "${flags[@]}" -o "$T/bin/mappings" mappings.c &&
        "${CC:-cc}" "${flags[@]}" -o "$T/bin/enter" ../tree/enter.c &&
        cp terminals.py "$T/bin" && chmod 644 "$T/bin/terminals.py" &&
        cp "$ABATIS" "$T/bin/abatis" && chmod 755 "$T/bin/abatis" || exit 1

command -v musl-gcc >/dev/null && musl-gcc "${flags[@]}" -o "$T/bin/terminals-musl" terminals.c

# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh

# A fresh world for each test: a home with secrets, a workspace, a tree that is readable.
fresh() {
        chmod -R u+rwx "$T/world" 2>/dev/null
        rm -rf "$T/world"
        mkdir -p "$T"/world/{ws,home/.ssh,home/.config/gh,out}
        echo secret-of-ssh >"$T/world/home/.ssh/id"
        echo secret-of-gh >"$T/world/home/.config/gh/hosts.yml"
        echo note >"$T/world/home/note"
        echo original >"$T/world/out/file"
        echo content >"$T/world/ws/file"
        cp /bin/true "$T/world/ws/true"
        ((EUID)) || chown -R "$ID:$ID" "$T/world"
}

# Runs a command where there are no user namespaces. What it prints comes into TEXT.
MODE=none
BEFORE=()
bare() { enter "$MODE" "$@"; }
enter() { # none|user COMMAND...
        local code how=$1
        shift
        TEXT=$(cd "$T/world/ws" && HOME=$T/world/home XDG_STATE_HOME='' TMPDIR='' \
                timeout -s KILL 100 "${BEFORE[@]}" "$T/bin/enter" "$ID" "$how" /usr/bin/env "$@" 2>&1 </dev/null)
        code=$?
        return "$code"
}
inside() { bare "$T/bin/abatis" run --no-audit -- "$@"; }

# Works, and says this.
says() { # NAME EXPECTED COMMAND...
        local name=$1 expected=$2 code
        shift 2
        wants "$name" || return
        fresh
        inside "$@"
        code=$?
        if [[ $code == 0 && $TEXT == "$expected" ]]; then
                ok "$name"
        else
                not_ok "$name" "exit $code: ${TEXT:0:200}"
        fi
}
# The same words work outside, and inside they fail and say nothing secret.
fails() { # NAME COMMAND...
        local name=$1 code
        shift
        wants "$name" || return
        fresh
        if ! bare "$@"; then
                not_ok "$name" "the control failed: ${TEXT:0:200}"
                return
        fi
        fresh
        inside "$@"
        code=$?
        if [[ $code == 0 || $code == 125 || $TEXT == *secret-of* ]]; then
                not_ok "$name" "exit $code: ${TEXT:0:200}"
        else
                ok "$name"
        fi
}
refused_by_name() { # NAME CLAUSE FLAG...
        local name=$1 clause=$2 code
        shift 2
        wants "$name" || return
        fresh
        bare "$T/bin/abatis" run --no-audit "$@" -- /bin/true
        code=$?
        if [[ $code == 125 && $TEXT == *"$clause"*"cannot be enforced"* ]]; then
                ok "$name"
        else
                not_ok "$name" "exit $code: ${TEXT:0:200}"
        fi
}

test_the_plan() {
        wants "every_clause_of_the_default_policy_is_held$AS" || return
        fresh
        bare "$T/bin/abatis" explain --json
        if python3 -c '
import json, sys
plan = json.loads(sys.argv[1])
held = {c["clause"]: c["by"] for c in plan["clauses"] if c["enforced"]}
sys.exit(len(held) != len(plan["clauses"]) or "broker" not in held["filesystem.write"] or len(held) < 12)' "$TEXT"; then
                ok "every_clause_of_the_default_policy_is_held$AS"
        else
                not_ok "every_clause_of_the_default_policy_is_held$AS" "${TEXT:0:300}"
        fi
}

test_changes() {
        local line
        wants "changes_in_the_workspace$AS" || return
        fresh
        inside "$T/bin/changes" all "$T/world/ws/file" || not_ok "changes_run$AS" "${TEXT:0:200}"
        while read -r line; do
                case $line in
                ok\ *) ok "${line#ok }_in_the_workspace$AS" ;;
                *) not_ok "changes_in_the_workspace$AS" "$line" ;;
                esac
        done <<<"$TEXT"
        [[ $(wc -l <<<"$TEXT") -ge 30 ]] || not_ok "changes_are_complete$AS" "only $(wc -l <<<"$TEXT") lines"
}

# The file outside keeps its mode, and the race was one: some calls worked, and some were refused.
test_race() { # ACTION KIND BAD [FLAG...]
        local name=$2_is_not_swapped_under_the_broker_by_$1$AS before code action=$1 kind=$2 bad=$3 rounds=$ROUNDS
        [[ $action == chmod ]] || rounds=$SLOW_ROUNDS
        shift 3
        wants "$name" || return
        fresh
        mkdir "$T/world/xs"
        echo original >"$T/world/xs/file"
        echo original >"$T/world/ws/kept"
        chmod 604 "$bad"
        ((EUID)) || chown -R "$ID:$ID" "$T/world"
        before=$(stat -c '%i %a %s %Y %Z' "$bad")
        bare "$T/bin/abatis" run --no-audit "$@" -- "$T/bin/changes" race "$action" "$kind" "$T/world/ws/file" "$bad" \
                "$rounds"
        code=$?
        if [[ $code == 0 && $(stat -c '%i %a %s %Y %Z' "$bad") == "$before" ]]; then
                ok "$name"
        else
                not_ok "$name" "exit $code, $(stat -c '%i %a %s %Y %Z' "$bad") instead of $before: ${TEXT:0:200}"
        fi
}

test_races() {
        local action kept=$T/world/ws/kept
        test_race chmod string "$T/world/xs/file"
        test_race chmod link "$T/world/out/file"
        test_race chmod parent "$T/world/out/file"
        test_race chmod descriptor "$T/world/out/file"
        for action in write replace unlink; do
                test_race "$action" string "$kept" --protect "$kept"
        done
        test_race write link "$kept" --protect "$kept"
        test_race write parent "$T/world/out/file" --protect "$kept"
        test_race replace parent "$T/world/out/file" --protect "$kept"
        test_race unlink parent "$T/world/out/file" --protect "$kept"
}

# Whatever a program does to names, it gets the same from the broker as from the kernel.
test_names() {
        local name=names_are_made_as_the_kernel_makes_them$AS expected
        wants "$name" || return
        cp names.py "$T/bin/names.py"
        fresh
        mkdir "$T/world/ws/play"
        ((EUID)) || chown "$ID:$ID" "$T/world/ws/play"
        bare python3 -B "$T/bin/names.py"
        expected=$TEXT
        fresh
        mkdir "$T/world/ws/play"
        ((EUID)) || chown "$ID:$ID" "$T/world/ws/play"
        bare "$T/bin/abatis" run --no-audit --protect "$T/world/ws/file" -- python3 -B "$T/bin/names.py"
        if [[ $TEXT == "$expected" && $(wc -l <<<"$TEXT") -gt 120 && $(<"$T/world/ws/file") == content ]]; then
                ok "$name"
        else
                not_ok "$name" "$(diff <(echo "$expected") <(echo "$TEXT") | head -n 6 | tr '\n' ' ')"
        fi
}

# A repository is work as usual; what git would execute or believe outside is not written.
test_git() {
        local name=git_works_and_its_hooks_and_configuration_stay$AS code
        wants "$name" || return
        fresh
        git -c init.defaultBranch=main init -q "$T/world/ws"
        ((EUID)) || chown -R "$ID:$ID" "$T/world/ws"
        inside sh -c '
                export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="*"
                who="-c user.name=n -c user.email=e@example.org"
                git add file && git $who commit -qm one && echo more >>file && git $who commit -qam two || exit 3
                git checkout -q -b other && git $who merge -q main && git stash list && git gc -q || exit 4
                git log --format=%s
                ! (echo bad >.git/hooks/pre-commit) && ! git config a.b c && ! (echo bad >>.git/config) || exit 5
                ! mv .git/hooks .git/other && ! mv .git other && ! ln .git/config other && ! rm .git/config || exit 6
                ! mkdir .git/hooks/new && ! ln -s /bin/true .git/hooks/post-commit && ! mv file .git/hooks/pre-push
        '
        code=$?
        if [[ $code == 0 && $TEXT == *two*one* && ! -e $T/world/ws/.git/hooks/pre-commit ]] &&
                ! grep -q bad "$T/world/ws/.git/config"; then
                ok "$name"
        else
                not_ok "$name" "exit $code: ${TEXT:0:300}"
        fi
}

# What others have left there, or use now, is none of ours.
found_in_tmp() { find /tmp -maxdepth 1 -name 'abatis-????????????????' -user "$ID" 2>/dev/null | sort; }
# In a sandbox that has namespaces, and hides openat2 from the broker of the one inside.
test_names_inside() {
        local name=names_are_made_the_same_in_a_sandbox_in_a_sandbox$AS expected
        local outer=("$T/bin/abatis" run --no-audit --no-loopback --) names=(python3 -B "$T/bin/names.py")
        wants "$name" || return
        cp names.py "$T/bin/names.py"
        fresh
        mkdir "$T/world/ws/play"
        ((EUID)) || chown "$ID:$ID" "$T/world/ws/play"
        enter user "${outer[@]}" "${names[@]}"
        expected=$TEXT
        fresh
        mkdir "$T/world/ws/play"
        ((EUID)) || chown "$ID:$ID" "$T/world/ws/play"
        enter user "${outer[@]}" "$T/bin/abatis" run --no-audit --protect "$T/world/ws/file" -- "${names[@]}"
        if [[ $TEXT == "$expected" && $(wc -l <<<"$TEXT") -gt 120 ]]; then
                ok "$name"
        else
                not_ok "$name" "$(diff <(echo "$expected") <(echo "$TEXT") | head -n 6 | tr '\n' ' ')"
        fi
}

# With something protected in the workspace, the broker does everything; what it was once talked into.
guarded() { bare "$T/bin/abatis" run --no-audit --protect "$T/world/ws/file" "$@"; }
test_tricks() {
        local name code job flag
        name=link_on_the_way_to_a_protected_file_is_refused$AS
        if wants "$name"; then
                fresh
                mkdir "$T/world/ws/real"
                echo original >"$T/world/ws/real/config"
                ln -s real "$T/world/ws/link"
                ((EUID)) || chown -Rh "$ID:$ID" "$T/world/ws"
                bare "$T/bin/abatis" run --no-audit --protect "$T/world/ws/link/config" -- /bin/true
                code=$?
                [[ $code == 125 && $TEXT == *"symbolic link"* ]] && ok "$name" || not_ok "$name" "exit $code: $TEXT"
        fi
        name=way_to_a_protected_absent_file_is_not_planted$AS
        if wants "$name"; then
                fresh
                bare "$T/bin/abatis" run --no-audit --protect "$T/world/ws/a/b" -- sh -c \
                        'mkdir evil; ! ln -s evil a && ! mkfifo a && ! (: >a) && mkdir a && ! (: >a/b) && : >a/c'
                code=$?
                [[ $code == 0 && -e $T/world/ws/a/c ]] && ok "$name" || not_ok "$name" "exit $code: $TEXT"
        fi
        name=own_temporary_directory_is_not_replaced$AS
        if wants "$name"; then
                fresh
                guarded -- sh -c '! rmdir "$TMPDIR" && ! mv "$TMPDIR" moved && : >"$TMPDIR/file"'
                code=$?
                [[ $code == 0 ]] && ok "$name" || not_ok "$name" "exit $code: $TEXT"
        fi
        name=presets_with_a_network_are_held$AS
        if wants "$name"; then
                fresh
                for flag in --preset=mcp --preset=guard --net=unix-only --net=allow; do
                        bare "$T/bin/abatis" run --no-audit "$flag" -- /bin/true
                        code=$?
                        [[ $code == 0 ]] && ok "${name}_$flag" || not_ok "${name}_$flag" "exit $code: $TEXT"
                done
        fi
        name=own_descriptors_are_listed$AS
        if wants "$name"; then
                fresh
                guarded -- python3 -c '
import os
fds = [os.open("/etc/passwd", os.O_RDONLY) for _ in range(20)]
print(set(map(str, fds)) <= set(os.listdir("/proc/self/fd")) & set(os.listdir("/dev/fd")),
      os.listdir("/proc/self/task") == [str(os.getpid())])'
                [[ $TEXT == "True True" ]] && ok "$name" || not_ok "$name" "$TEXT"
        fi
        name=size_of_files_is_limited_by_truncate_too$AS
        if wants "$name"; then
                fresh
                guarded --file-size 1MiB -- python3 -c '
import os
open("big", "w")
os.truncate("big", 1 << 20)
os.truncate("big", 1 << 30)'
                [[ $TEXT == *"File too large"* && $(stat -c %s "$T/world/ws/big") == 1048576 ]] && ok "$name" ||
                        not_ok "$name" "$TEXT"
        fi
        name=protected_file_is_locked_as_ever$AS
        if wants "$name"; then
                fresh
                guarded -- flock "$T/world/ws/file" echo locked
                [[ $TEXT == locked ]] && ok "$name" || not_ok "$name" "$TEXT"
        fi
        name=terminal_is_the_commands_own$AS
        if wants "$name"; then
                fresh
                guarded --pty -- sh -c 'tty >/dev/null && echo terminal'
                [[ $TEXT == terminal* ]] && ok "$name" || not_ok "$name" "$TEXT"
        fi
        # Who opens a pipe that somebody puts in the way waits for its other end, as anywhere; all others are answered.
        name=broker_answers_while_others_wait_for_pipes$AS
        if wants "$name"; then
                fresh
                (cd "$T/world/ws" && exec "$T/bin/enter" "$ID" none /usr/bin/env python3 -c '
import os, time
end = time.time() + 3
while time.time() < end:
    try:
        os.mkfifo("race"); os.unlink("race")
    except OSError:
        pass') &
                job=$!
                guarded --timeout 4s -- python3 -c '
import os, threading, time
end = time.time() + 2
def meet_pipes():
    while True:
        try:
            os.close(os.open("race", os.O_CREAT | os.O_WRONLY, 0o600)); os.unlink("race")
        except OSError:
            pass
for _ in range(12):
    threading.Thread(target=meet_pipes, daemon=True).start()
count = 0
while time.time() < end:
    os.close(os.open("plain", os.O_CREAT | os.O_WRONLY, 0o600)); os.unlink("plain")
    count += 1
print("done" if count > 100 else count, flush=True)
os._exit(0)'
                code=$?
                wait "$job"
                [[ $code == 0 && $TEXT == "done" ]] && ok "$name" || not_ok "$name" "exit $code: $TEXT"
        fi
}

left_in_tmp() { comm -13 <(echo "$FOUND") <(found_in_tmp) | wc -l; }

test_own_tmp() {
        local i job FOUND name=temporary_files_go_with_the_job$AS
        FOUND=$(found_in_tmp)
        says "TMPDIR_is_a_directory_of_its_own$AS" yes sh -c \
                'case $(mktemp) in /tmp/abatis-*/tmp.*) echo yes ;; esac; [ "$(stat -c %a "$TMPDIR")" = 700 ]'
        echo secret-of-others >"/tmp/bare-of-others.$$"
        fails "tmp_is_not_read$AS" cat "/tmp/bare-of-others.$$"
        fails "tmp_is_not_listed$AS" ls /tmp
        fails "tmp_is_not_written$AS" sh -c "echo changed >/tmp/bare-of-others.$$.new && rm /tmp/bare-of-others.$$.new"
        fails "shm_is_not_written$AS" sh -c "echo changed >/dev/shm/bare.$$ && rm /dev/shm/bare.$$"
        if wants "$name"; then
                fresh
                # Deep, closed, and with names that are not polite.
                inside python3 -c '
import os
os.chdir(os.environ["TMPDIR"])
open("a\nb", "w"); os.mkdir("-rf"); os.symlink(os.environ["HOME"], "home"); os.mkfifo("pipe")
os.mkdir("closed"); open("closed/file", "w"); os.chmod("closed", 0)
for i in range(300): open("f%d" % i, "w")
for i in range(2500):
    os.mkdir("d"); open("file", "w"); os.chdir("d")'
                i=$?
                [[ $i == 0 && $(left_in_tmp) == 0 && -e $T/world/home/note ]] && ok "$name" ||
                        not_ok "$name" "exit $i, $(left_in_tmp) left: ${TEXT:0:200}"
        fi
        name=temporary_files_go_when_abatis_is_killed$AS
        if wants "$name"; then
                fresh
                (cd "$T/world/ws" && HOME=$T/world/home exec "$T/bin/enter" "$ID" none "$T/bin/abatis" run --no-audit -- \
                        sh -c 'mkdir "$TMPDIR/d"; touch "$TMPDIR/d/file" ready; sleep 60') &
                job=$!
                for ((i = 0; i < 200; i++)); do
                        [[ -e $T/world/ws/ready ]] && break
                        sleep 0.02
                done
                local before
                before=$(left_in_tmp)
                kill -KILL "$job"
                wait "$job" 2>/dev/null
                for ((i = 0; i < 100; i++)); do
                        [[ $(left_in_tmp) == 0 ]] && break
                        sleep 0.02
                done
                [[ $before == 1 && $(left_in_tmp) == 0 ]] && ok "$name" ||
                        not_ok "$name" "$before before, $(left_in_tmp) after"
        fi
}

test_directories() {
        local home=$T/world/home
        says "home_is_listed$AS" $'.config\n.ssh\nnote' sh -c 'ls -A ~'
        says "root_is_listed$AS" yes sh -c 'ls / | grep -q usr && echo yes'
        says "directories_are_listed_from_another$AS" $'closed\nopen' python3 -c '
import os
os.makedirs("a/open"); os.mkdir("a/closed")
print("\n".join(sorted(os.listdir(os.open("a", os.O_RDONLY | os.O_DIRECTORY)))))'
        says "a_directory_that_is_no_directory_is_none$AS" yes python3 -c '
import os
try:
    os.open("file", os.O_RDONLY | os.O_DIRECTORY)
except NotADirectoryError:
    print("yes")'
        fails "secrets_are_not_read$AS" cat "$home/.ssh/id"
        fails "secrets_are_not_listed$AS" ls "$home/.ssh"
        fails "secrets_are_not_listed_by_a_relative_path$AS" ls ../home/.config/gh
        fails "secrets_are_not_listed_from_another_directory$AS" python3 -c '
import os, sys
home = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
print(os.listdir(os.open(".ssh", os.O_RDONLY | os.O_DIRECTORY, dir_fd=home)))' "$home"
        fails "secrets_are_not_listed_from_within$AS" python3 -c '
import os, sys
os.chdir(sys.argv[1])
print(os.listdir("."))' "$home/.ssh"
        fails "secrets_are_not_listed_through_a_link$AS" sh -c 'ln -s "$1" link && ls link/' - "$home/.ssh"
        fails "secrets_are_not_listed_without_the_flag$AS" python3 -c '
import os, sys
print(os.listdir(os.open(sys.argv[1], os.O_RDONLY)))' "$home/.ssh"
        fails "secrets_are_not_renamed$AS" mv "$home/.ssh" "$home/.other"
}

test_processes() {
        says "own_threads_are_scheduled$AS" yes python3 -c '
import os, threading
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.sched_setaffinity(threading.get_native_id(), os.sched_getaffinity(0))
os.setpriority(os.PRIO_PROCESS, 0, 1)
os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 2)
print("yes")'
        local other
        other=$("$T/bin/enter" "$ID" none /bin/sh -c 'sleep 300 >/dev/null & echo $!')
        # Its number is somebody else's when it has ended, and the call may come later than the answer.
        fails "another_thread_is_left_alone$AS" python3 -c '
import os, resource, threading, time
other = threading.Thread(target=time.sleep, args=(1,))
other.start()
limits = resource.prlimit(0, resource.RLIMIT_NOFILE)
for own in (0, os.getpid(), threading.get_native_id()):
        resource.prlimit(own, resource.RLIMIT_NOFILE, limits)
        os.sched_setaffinity(own, os.sched_getaffinity(0))
resource.prlimit(other.native_id, resource.RLIMIT_NOFILE, limits)'
        local keeper terminal
        read -r keeper terminal < <("$T/bin/enter" "$ID" none /usr/bin/env python3 -c '
import os, time
near, far = os.openpty()
keeper = os.fork()
if keeper:
        print(keeper, os.ttyname(far))
else:
        os.close(1)
        time.sleep(300)')
        fails "terminal_of_others_is_not_opened_for_nothing$AS" python3 -c '
import fcntl, os, sys, termios
fcntl.ioctl(os.open(sys.argv[1], 3), termios.TIOCSWINSZ, bytes(8))' "$terminal"
        kill "$keeper"
        fails "priority_of_another_process_stays$AS" python3 -c \
                'import os, sys; os.setpriority(os.PRIO_PROCESS, int(sys.argv[1]), 3)' "$other"
        fails "limits_of_another_process_stay$AS" python3 -c \
                'import resource, sys; resource.prlimit(int(sys.argv[1]), resource.RLIMIT_NOFILE, (100, 100))' "$other"
        fails "processors_of_another_process_stay$AS" python3 -c \
                'import os, sys; os.sched_setaffinity(int(sys.argv[1]), os.sched_getaffinity(0))' "$other"
        fails "another_process_gets_no_signal$AS" python3 -c \
                'import os, sys; os.kill(int(sys.argv[1]), 0)' "$other"
        kill "$other"
}

# A limit of the whole tree, counted in the host's /proc: it ends who is over it, and only him.
counts() { # NAME LIMIT FLAG BOMB HARMLESS
        local name=$1 code
        wants "$name" || return
        fresh
        bare "$T/bin/abatis" run --no-audit --timeout 30s --json "$3" -- python3 -c "$4"
        code=$?
        if [[ $code != 137 || $TEXT != *"\"limit\":\"limits.$2\""* ]]; then
                not_ok "$name" "exit $code: ${TEXT:0:200}"
                return
        fi
        fresh
        bare "$T/bin/abatis" run --no-audit --timeout 30s "$3" -- python3 -c "$5"
        code=$?
        [[ $code == 0 ]] && ok "$name" || not_ok "$name" "the control failed: exit $code: ${TEXT:0:200}"
}
test_limits() {
        local daemons='import os, time
def daemons(count, work):
    for n in range(count):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                work(n)
            os._exit(0)
        os.wait()
def fill(n): kept = bytearray(20 << 20); time.sleep(2)
def burn(n):
    while time.process_time() < 0.2: pass
def write(n): open("f%d" % n, "wb").write(bytes(4 << 20)); time.sleep(0.1)
'
        counts "memory_of_daemons_is_counted$AS" memory --memory=200MiB \
                "${daemons}daemons(20, fill); time.sleep(20)" "${daemons}daemons(3, fill); time.sleep(0.5)"
        counts "processor_time_of_daemons_is_counted$AS" cpu --cpu=1s \
                "${daemons}daemons(20, burn); time.sleep(20)" "${daemons}daemons(2, burn); time.sleep(1)"
        counts "what_daemons_write_is_counted$AS" written --written=16MiB \
                "${daemons}daemons(9, write); time.sleep(20)" "${daemons}daemons(2, write); time.sleep(0.5)"
}

# Datagrams are refused; whoever runs without them all the same can send none.
test_list() {
        local name=datagrams_that_are_left_out_are_not_sent$AS make='import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print("made")'
        refused_by_name "datagrams_are_refused_by_name$AS" network.connect --connect example.org:443/udp
        wants "$name" || return
        fresh
        if ! bare "$T/bin/abatis" run --no-audit --net allow -- python3 -c "$make"; then
                not_ok "$name" "the control failed: ${TEXT:0:200}"
        elif bare "$T/bin/abatis" run --no-audit --best-effort --connect example.org:443/udp -- python3 -c "$make" || [[ $TEXT == *made* ]]; then
                not_ok "$name" "${TEXT:0:200}"
        else
                ok "$name"
        fi
}

# Where somebody could hide, or use memory that is nobody's, a limit is not held.
test_uncountable() {
        ((EUID)) && return
        local BEFORE=(unshare --mount sh -c "mount -t proc -o \$HIDE proc /proc && exec \"\$@\"" sh)
        export HIDE
        for HIDE in hidepid=noaccess hidepid=invisible hidepid=ptraceable; do
                refused_by_name "memory_behind_${HIDE/=/_}_is_refused$AS" limits.memory --memory=1GiB
                refused_by_name "processor_time_behind_${HIDE/=/_}_is_refused$AS" limits.cpu --cpu=10s
                refused_by_name "bytes_written_behind_${HIDE/=/_}_are_refused$AS" limits.written --written=1GiB
        done
        HIDE=hidepid=off
        counts "processor_time_behind_hidepid_off_is_counted$AS" cpu --cpu=500ms 'while True: pass' pass
        BEFORE=(unshare --mount sh -c 'mount -t tmpfs -o mode=1777 none /tmp && exec "$@"' sh)
        refused_by_name "memory_beside_a_tmp_in_memory_is_refused$AS" limits.memory --memory=1GiB
        counts "processor_time_beside_a_tmp_in_memory_is_counted$AS" cpu --cpu=500ms 'while True: pass' pass
        BEFORE=(unshare --mount --pid --fork sh -c 'exec "$@"' sh)
        refused_by_name "counting_in_the_proc_of_others_is_refused$AS" limits.cpu --cpu=10s
}
# shellcheck source=terminals.sh
. ./terminals.sh
# shellcheck source=mappings.sh
. ./mappings.sh

run_all() { # UID NAME
        ID=$1 AS=_as_$2
        test_the_plan
        says "a_command_runs$AS" hello sh -c 'echo hello'
        test_git
        test_changes
        fails "mode_of_a_file_outside_stays$AS" chmod 600 "$T/world/out/file"
        test_races
        test_names
        test_names_inside
        test_directories
        test_own_tmp
        test_tricks
        test_processes
        test_limits
        test_list
        test_uncountable
        test_terminals
        test_mappings
        refused_by_name "list_with_a_program_of_the_workspace_is_refused$AS" process.commands --command "$T/world/ws/true"
        refused_by_name "strict_is_refused$AS" filesystem.read --preset strict
        # In there is no Landlock, and the kernel lets no process have two listeners.
        if wants "second_sandbox_inside_is_refused$AS"; then
                fresh
                inside "$T/bin/abatis" run --no-audit -- /bin/true
                [[ $? == 125 && $TEXT == *'can hold a sandbox: native: there are no namespaces, and no Landlock'* ]] && ok "second_sandbox_inside_is_refused$AS" ||
                        not_ok "second_sandbox_inside_is_refused$AS" "${TEXT:0:200}"
        fi
}

# A container: the same commands, told by themselves that there are no namespaces to be had.
test_container() { # UID NAME docker|masked
        local MODE=$3 home=$T/world/home
        ID=$1 AS=_as_$2_in_a_container_like_$3
        # Who is root with all capabilities mounts his own /proc, masked or not, and has namespaces.
        [[ $2$3 == rootmasked ]] || test_the_plan
        says "a_command_runs$AS" hello sh -c 'echo hello'
        test_git
        fails "mode_of_a_file_outside_stays$AS" chmod 600 "$T/world/out/file"
        fails "file_outside_is_not_written$AS" sh -c 'echo changed >"$1"' sh "$T/world/out/file"
        fails "secrets_are_not_read$AS" cat "$home/.ssh/id"
        [[ $2$3 == rootmasked ]] || test_own_tmp
        test_limits
        [[ $2$3 == rootmasked ]] || test_terminals_of seldom
        [[ $2$3 == rootmasked ]] || test_mappings
        if wants "pattern_is_held$AS"; then
                fresh
                echo secret-of-env >"$T/world/ws/.env"
                ((EUID)) || chown -R "$ID:$ID" "$T/world"
                bare "$T/bin/abatis" run --no-audit --deny-glob '**/.env' -- sh -c 'cat file && ! cat .env'
                [[ $? == 0 && $TEXT == content* && $TEXT != *secret-of* ]] && ok "pattern_is_held$AS" ||
                        not_ok "pattern_is_held$AS" "$TEXT"
        fi
}

if ((EUID)); then
        run_all "$EUID" user
        test_container "$EUID" user docker
else
        for how in docker masked; do
                test_container "$ORDINARY_UID" user "$how"
                test_container 0 root "$how"
        done
        run_all "$ORDINARY_UID" user
        run_all 0 root
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
