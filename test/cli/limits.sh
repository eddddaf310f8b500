#!/bin/bash
# limits.sh: limits of the whole process tree: each is held however the use is spread, and named when it ended the job.
#
#   ABATIS=build/abatis test/cli/limits.sh [PART-OF-A-NAME...]
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Runs the command with FLAGS and --json; the result is in $T/out.
json() { # CMD [ARG...]
        capture "$ABATIS" run "${FLAGS[@]}" --timeout 30s --json -- "$@"
        may_be_refused
        [ -s "$T/out" ] || fail "no result (exit code $RC): $(said)"
}

ended_by() { # LIMIT CMD [ARG...]
        local limit=$1
        shift
        json "$@"
        json_is "$T/out" "r['limit'] == '$limit' and r['signal'] == 9"
}

passes() { # CMD [ARG...]
        json "$@"
        json_is "$T/out" 'r["limit"] is None and r["exit_code"] == 0'
}

is_counted() { # LIMIT FLAG VALUE
        "$ABATIS" explain "$2" "$3" -- true 2>/dev/null | grep "$1" | grep -q 'tree counted'
}

# ---- processor time ----------------------------------------------------------------------------------------

BURN='
import os, sys, time
def burn(seconds):
    while time.process_time() < seconds: pass
children, each = int(sys.argv[1]), float(sys.argv[2])
for n in range(children):
    if os.fork() == 0:
        burn(each); os._exit(0)
if not children: burn(each)
for n in range(children): os.wait()'

test_processor_time_of_one_process_is_limited() {
        FLAGS=(--cpu 500ms)
        ended_by limits.cpu python3 -c "$BURN" 0 10
}

test_processor_time_is_that_of_all_processes() {
        FLAGS=(--cpu 1s)
        ended_by limits.cpu python3 -c "$BURN" 20 0.2
}

test_processor_time_of_children_that_are_gone_counts() {
        FLAGS=(--cpu 1s)
        # shellcheck disable=SC2016 # of the inner shell
        ended_by limits.cpu sh -c 'while :; do python3 -c "$0" 0 0.1; done' "$BURN"
}

test_processor_time_of_children_that_nobody_waits_for_counts() {
        FLAGS=(--cpu 1s)
        ended_by limits.cpu python3 -c 'import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        while time.process_time() < 0.1: pass
        os._exit(0)
    try: os.wait()
    except ChildProcessError: pass'
}

test_processor_time_of_a_daemon_counts() {
        FLAGS=(--cpu 500ms)
        ended_by limits.cpu python3 -c 'import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: pass
    os._exit(0)
time.sleep(20)'
}

# Each starts the next one and ends: init alone waits for them.
test_processor_time_of_a_chain_of_orphans_counts() {
        local chain='import os, sys, time
for n in range(int(sys.argv[1])):
    if os.fork(): # the successor goes on while this one works
        while time.process_time() < 0.03: pass
        os._exit(0)
time.sleep(0.2)'
        FLAGS=(--cpu 1s)
        # shellcheck disable=SC2016 # of the inner shell
        ended_by limits.cpu sh -c 'python3 -c "$0" 200; sleep 20' "$chain"
        # shellcheck disable=SC2016
        passes sh -c 'python3 -c "$0" 5; sleep 0.5' "$chain"
}

test_processor_time_of_very_short_children_counts() {
        FLAGS=(--cpu 1s)
        # shellcheck disable=SC2016 # of the inner shell
        ended_by limits.cpu sh -c 'while :; do (:); done'
}

test_processor_time_below_the_limit_is_fine() {
        FLAGS=(--cpu 20s)
        passes python3 -c "$BURN" 3 0.1
}

test_time_asleep_is_no_processor_time() {
        FLAGS=(--cpu 500ms)
        passes sleep 1
}

# ---- memory ------------------------------------------------------------------------------------------------

FILL='
import os, sys, time
children, mebibytes = int(sys.argv[1]), int(sys.argv[2])
def fill():
    kept = [bytearray(os.urandom(4096) * 256) for n in range(mebibytes)]
    time.sleep(0.5)
for n in range(children):
    if os.fork() == 0:
        fill(); os._exit(0)
if not children: fill()
sys.exit(max([os.wait()[1] for n in range(children)] or [0]))'

test_memory_of_one_process_is_limited() {
        FLAGS=(--memory 100MiB)
        ended_by limits.memory python3 -c "$FILL" 0 150
}

test_memory_is_that_of_all_processes() {
        FLAGS=(--memory 150MiB)
        ended_by limits.memory python3 -c "$FILL" 8 30
}

test_memory_of_orphans_counts() {
        local orphans='import os, sys, time
for n in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            kept = bytearray(os.urandom(4096) * 256 * 10)
            time.sleep(3)
        os._exit(0)
    os.wait()
time.sleep(float(sys.argv[2]))'
        FLAGS=(--memory 150MiB)
        ended_by limits.memory python3 -c "$orphans" 20 20
        passes python3 -c "$orphans" 3 0.5
}

test_memory_of_a_process_that_hides_counts() {
        local hidden='import ctypes, sys, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) # PR_SET_DUMPABLE
kept = bytearray(int(sys.argv[1]) << 20)
time.sleep(0.5)'
        FLAGS=(--memory 100MiB)
        ended_by limits.memory python3 -c "$hidden" 150
        passes python3 -c "$hidden" 20
}

test_memory_below_the_limit_is_fine() {
        FLAGS=(--memory 300MiB)
        passes python3 -c "$FILL" 3 30
}

test_memory_that_processes_share_counts_once() {
        FLAGS=(--memory 150MiB)
        passes python3 -c 'import os, time
kept = bytearray(60 << 20)
for n in range(6):
    if os.fork() == 0:
        time.sleep(0.4); os._exit(0)
for n in range(6): os.wait()'
}

test_files_in_private_directories_are_memory() {
        FLAGS=(--memory 100MiB)
        # shellcheck disable=SC2016 # of the inner shell
        json sh -c 'head -c 80000000 /dev/zero >/tmp/a && python3 -c "$0" 0 60' "$FILL"
        json_is "$T/out" 'r["limit"] == "limits.memory"'
        # shellcheck disable=SC2016
        passes sh -c 'head -c 20000000 /dev/zero >/tmp/a && python3 -c "$0" 0 10' "$FILL"
}

test_where_memory_is_counted_there_is_none_without_a_process() {
        is_counted limits.memory --memory 1GiB || skip "a cgroup counts it"
        FLAGS=()
        control sandbox python3 -c 'import os; os.memfd_create("x")'
        FLAGS=(--memory 1GiB)
        is_refused sandbox python3 -c 'import os; os.memfd_create("x")'
}

test_memory_of_threads_without_the_first_counts() {
        needs cc
        FLAGS=(--memory 100MiB)
        cat >"$W/hide.c" <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *use(void *size)
{
        sleep(1);
        memset(malloc((size_t)size), 1, (size_t)size);
        sleep(2);
        exit(0);
}
int main(int argc, char **argv)
{
        pthread_t thread;
        pthread_create(&thread, NULL, use, (void *)((size_t)atoi(argv[argc - 1]) << 20));
        pthread_exit(NULL);
}
C
        cc -o hide hide.c -pthread
        ended_by limits.memory ./hide 150
        passes ./hide 20
}

test_spawning_from_a_large_process_is_fine() {
        FLAGS=(--memory 150MiB)
        passes python3 -c 'import os
kept = bytearray(90 << 20)
for n in range(150):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)'
}

# ---- processes, files, storage -----------------------------------------------------------------------------

test_a_fork_bomb_stays_small() {
        FLAGS=(--processes 20)
        if ! "$ABATIS" explain --processes 20 -- true >/dev/null 2>&1; then
                exits 125 sandbox true
                grep -q 'limits.processes cannot be enforced' "$T/err" || fail "$(said)"
                return
        fi
        json python3 -c 'import os, sys, time
made = 1
try:
    for n in range(60):
        if os.fork() == 0:
            time.sleep(5); os._exit(0)
        made += 1
except BlockingIOError: pass
print(made); sys.exit(made != 60)'
        json_is "$T/out" 'r["stdout"] == "20\n" and r["exit_code"] == 1 and r["limit"] in (None, "limits.processes")'
}

test_an_open_file_too_many_is_an_error_of_the_command() {
        FLAGS=(--open-files 40)
        json python3 -c 'import os; [os.dup(0) for n in range(64)]'
        json_is "$T/out" 'r["limit"] is None and r["exit_code"] == 1 and "Too many open files" in r["stderr"]'
}

test_what_all_processes_write_is_limited() {
        FLAGS=(--written 16MiB)
        # shellcheck disable=SC2016 # of the inner shell
        ended_by limits.written sh -c 'for n in 1 2 3 4 5 6 7 8 9; do head -c 4M /dev/zero >f$n; sleep 0.1; done'
        rm -f f?
        ended_by limits.written sh -c 'head -c 64M /dev/zero >f; sleep 5'
}

test_processes_that_nobody_waits_for_can_write() {
        FLAGS=(--written 16MiB)
        passes python3 -c 'import os, time
for n in range(5):
    if os.fork() == 0:
        open("f", "wb").write(bytes(100000)); os._exit(0)
time.sleep(1)'
        ended_by limits.written python3 -c 'import os, time
for n in range(9):
    if os.fork() == 0:
        open("f%d" % n, "wb").write(bytes(4 << 20)); time.sleep(0.2); os._exit(0)
time.sleep(5)'
}

test_what_is_written_below_the_limit_is_fine() {
        FLAGS=(--written 16MiB)
        passes sh -c 'head -c 4M /dev/zero >f; head -c 4M /dev/zero >g; sleep 0.2'
        passes sh -c 'head -c 64M /dev/zero >/tmp/f; sleep 0.2' # no storage
        passes sh -c 'head -c 64M /dev/zero >/dev/null; sleep 0.2'
}

test_what_orphans_write_is_limited() {
        local orphans='import os, sys, time
for n in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open("f%d" % n, "wb").write(bytes(4 << 20)); time.sleep(0.1)
        os._exit(0)
    os.wait()
time.sleep(float(sys.argv[2]))'
        FLAGS=(--written 16MiB)
        ended_by limits.written python3 -c "$orphans" 9 20
        rm -f f?
        passes python3 -c "$orphans" 2 0.5
}

# ---- all of them -------------------------------------------------------------------------------------------

test_what_runs_outside_is_not_counted() {
        local outside
        python3 -c 'import ctypes, os, time
kept = bytearray(200 << 20)
for n in range(200): # and of these the list is long
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0) # PR_SET_PDEATHSIG
        time.sleep(20); os._exit(0)
print("ready", flush=True)
open("outside", "wb").write(bytes(32 << 20))
end = time.monotonic() + 20
while time.monotonic() < end: pass' >"$T/said" &
        outside=$!
        # shellcheck disable=SC2064 # at the end it is out of sight
        trap "kill $outside; wait $outside" EXIT
        eventually grep -q ready "$T/said" || fail "what runs outside does not"
        FLAGS=(--memory 100MiB --cpu 1s --written 16MiB)
        passes sh -c 'sleep 1.5; echo x >f'
        kill -0 $outside || fail "what runs outside has ended"
        ended_by limits.cpu sh -c 'while :; do (:); done'
}

test_a_job_beside_one_that_is_ended_goes_on() {
        FLAGS=(--memory 100MiB --cpu 10s)
        sandbox sh -c 'sleep 2; echo beside' >"$T/beside" &
        ended_by limits.memory python3 -c "$FILL" 0 150
        wait $! || fail "the job beside ended with $?"
        [ "$(<"$T/beside")" = beside ] || fail "the job beside printed '$(<"$T/beside")'"
}

test_all_limits_at_once_are_explained_and_fine() {
        FLAGS=(--memory 1GiB --cpu 20s --open-files 100 --file-size 1GiB --written 1GiB)
        succeeds "$ABATIS" explain "${FLAGS[@]}" -- true
        grep -q 'limits.memory .*\(cgroup memory.max\|tree counted every\)' "$T/out" || fail "$(grep limits.m "$T/out")"
        grep -q 'limits.cpu .*\(cgroup cpu.stat\|tree counted every\)' "$T/out" || fail "$(grep limits.c "$T/out")"
        grep -q 'limits.written .*/proc/PID/io' "$T/out" || fail "$(grep limits.w "$T/out")"
        grep -q 'limits.open_files .*RLIMIT_NOFILE of each process' "$T/out" || fail "$(grep limits.o "$T/out")"
        passes sh -c 'sleep 0.2; echo x >f'
        FLAGS=(--preset strict --memory 1GiB --cpu 20s --written 1GiB)
        passes sh -c 'sleep 0.2'
}

test_no_cgroup_is_left_behind() {
        local directory job
        directory=$("$ABATIS" explain --cpu 10s -- true | sed -n 's/^ *[0-9]* cgroup  *limits.cpu: \(.*\): a cgroup.*/\1/p')
        [ -n "$directory" ] || skip "no cgroup is delegated"
        FLAGS=(--cpu 10s)
        "$ABATIS" run --cpu 10s -- sleep 30 &
        job=$!
        sleep 0.5
        ls -d "$directory/abatis-$job-"* >/dev/null || fail "no directory of its own in $directory"
        kill -KILL $job
        wait $job 2>/dev/null
        sleep 0.2 # its processes end when they notice
        passes true
        ! ls -d "$directory/abatis-$job-"* 2>/dev/null || fail "the directory of a killed supervisor is left"
}

test_a_process_does_not_evade_a_limit_by_hiding() {
        FLAGS=(--cpu 500ms)
        ended_by limits.cpu python3 -c 'import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) # PR_SET_DUMPABLE
while True: pass'
        # What it writes only root can see then: for others, a process that cannot be counted ends the job.
        capture "$ABATIS" run --written 4MiB --timeout 30s --json -- python3 -c 'import ctypes, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
f = open("f", "wb")
for n in range(64): f.write(bytes(1 << 20)); time.sleep(0.05)'
        if is_root; then
                json_is "$T/out" 'r["limit"] == "limits.written"'
        else
                [ "$RC" = 123 ] || fail "exit code $RC: $(said)"
                grep -q 'could not be counted' "$T/err" || fail "said: $(said)"
        fi
        [ "$(stat -c %s f)" -lt 64000000 ] || fail "everything was written"
}

# One after the other, each too short to be waited for; by a call, and by a program that cannot be read.
test_a_process_does_not_evade_a_limit_by_hiding_for_a_moment() {
        needs cc
        local how
        is_root && skip "nobody hides from root"
        cat >"$W/short.c" <<'C'
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static char data[4 << 20];
int main(int argc, char **argv)
{
        if (argc == 2) { /* the program that is started */
                int fd = open("f", O_WRONLY | O_CREAT, 0600);
                if (!strcmp(argv[1], "call"))
                        prctl(PR_SET_DUMPABLE, 0);
                if (write(fd, data, sizeof(data)) < 0)
                        return 1;
                fsync(fd);
                unlink("f");
                usleep(60000);
                return 0;
        }
        signal(SIGCHLD, SIG_IGN);
        for (int n = 0; n < atoi(argv[2]); n++) {
                if (!fork())
                        _exit(execl(argv[3], argv[3], argv[1], (char *)0));
                while (wait(0) > 0)
                        ;
        }
        return 0;
}
C
        cc -w -o short short.c
        cp short closed
        chmod 111 closed
        for how in "call 60 ./short" "no 60 ./closed"; do
                # shellcheck disable=SC2086 # words
                capture "$ABATIS" run --written 48MiB --timeout 30s -- ./short $how
                [ "$RC" = 123 ] || fail "$how: exit code $RC: $(said)"
                grep -q 'could not be counted' "$T/err" || fail "said: $(said)"
        done
        FLAGS=(--written 48MiB)
        ended_by limits.written ./short no 60 ./short
        FLAGS=(--written 1TiB)
        passes ./short call 3 ./short
        passes ./short no 3 ./closed
}

# For a moment nobody can look into a process that executes another program.
test_many_programs_beside_a_busy_disk_are_not_taken_for_hidden_ones() {
        local writer
        python3 -c 'import sys, time
while True: open(sys.argv[1], "wb").write(bytes(16 << 20)); time.sleep(0.02)' "$T/busy" &
        writer=$!
        # shellcheck disable=SC2064 # at the end it is out of sight
        trap "kill $writer; wait $writer" EXIT
        FLAGS=(--written 32MiB)
        passes python3 -c 'import os
kept = bytearray(50 << 20)
for n in range(400):
    if os.fork() == 0: os.execv("/bin/true", ["true"])
    os.wait()'
}

test_a_short_command_is_never_ended_by_a_limit() {
        local n
        for n in {1..60}; do
                succeeds "$ABATIS" run --memory 512MiB --cpu 1m --written 1GiB -- cat /etc/passwd
                succeeds "$ABATIS" run --memory 512MiB -- sleep 0.005
        done
}

main "$@"
