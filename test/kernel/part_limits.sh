# part_limits.sh: limits with controllers of cgroup v2, for root, for a user with a delegated subtree and for one without.
# Sourced by guest.sh.
# shellcheck shell=sh
run() { # FLAG... -- COMMAND: as the role at hand; the result in /out, a word for the limit in LIMIT
        # shellcheck disable=SC2086 # two words
        $AS /bin/abatis run --json "$@" >/out 2>/err
        LIMIT=$(sed -n 's/.*"limit":"*\([a-z._]*\)"*,.*/\1/p' /out)
        CODE=$(sed -n 's/.*"exit_code":\([a-z0-9]*\),.*/\1/p' /out)
}

check() { # NAME LIMIT CODE
        if [ "$LIMIT $CODE" = "$2 $3" ]; then
                echo "ok ${ROLE}_$1"
        else
                echo "not ok ${ROLE}_$1 - limit $LIMIT, exit code $CODE: $(head -c 200 /err)"
        fi
}

explains() { # NAME FLAG VALUE WORDS
        if $AS /bin/abatis explain "$2" "$3" 2>&1 | grep -q "limits.*$4"; then
                echo "ok ${ROLE}_$1"
        else
                echo "not ok ${ROLE}_$1 - $($AS /bin/abatis explain "$2" "$3" 2>&1 | grep -m1 limits)"
        fi
}

with_limits() {
        run --memory 64MiB -- /bin/hog memory 96 0
        check memory_of_one_process_is_limited limits.memory null
        run --memory 64MiB -- /bin/hog memory 12 8
        check memory_of_many_processes_is_limited limits.memory null
        run --memory 64MiB -- /bin/hog memory 12 3
        check memory_below_the_limit_is_fine null 0
        run --cpu 400ms -- /bin/hog cpu 300 4
        check processor_time_of_many_processes_is_limited limits.cpu null
        run --cpu 20s -- /bin/hog cpu 100 2
        check processor_time_below_the_limit_is_fine null 0
        # Beside one that is killed.
        $AS /bin/abatis run --json --memory 64MiB -- /bin/hog memory 96 0 >/dev/null 2>&1 &
        run --memory 64MiB -- /bin/hog memory 20 1
        check a_job_beside_is_not_touched null 0
        wait
}

with_cgroup() { # DIRECTORY
        explains memory_is_held_by_a_cgroup --memory 64MiB "cgroup memory.max"
        explains processes_are_held_by_a_cgroup --processes 5 "cgroup pids.max"
        explains small_memory_is_counted --memory 8MiB "counted"
        run --memory 64MiB -- /bin/hog file 96
        check memory_that_nobody_maps_is_limited limits.memory null
        run -- /bin/hog sockets 48
        check sockets_take_much_without_a_limit null 0
        run --memory 32MiB -- /bin/hog sockets 48
        check memory_in_sockets_is_limited limits.memory null
        run --memory 32MiB -- /bin/hog sockets 2
        check memory_in_sockets_below_the_limit_is_fine null 0
        run --processes 6 -- /bin/hog processes 12
        check processes_are_limited limits.processes 3
        run --processes 6 -- /bin/hog processes 6
        check as_many_processes_as_allowed_run null 0
        run --memory 64MiB --processes 6 --cpu 9s -- /bin/true
        check all_at_once_is_fine null 0
        # The directory of a job whose supervisor was killed goes with the next one.
        $AS /bin/abatis run --memory 64MiB -- /bin/sleep 30 &
        until ls -d "$1"/abatis-* >/dev/null 2>&1; do sleep 0.1; done
        kill -9 $!
        wait
        [ "$(ls -d "$1"/abatis-* | wc -l)" = 1 ] || echo "not ok ${ROLE}_a_killed_supervisor_leaves_its_directory"
        run --memory 64MiB -- /bin/true
        if ls -d "$1"/abatis-* >/dev/null 2>&1; then
                echo "not ok ${ROLE}_no_directory_is_left - $(ls -d "$1"/abatis-*)"
        else
                echo "ok ${ROLE}_no_directory_is_left"
        fi
}

ROLE=root AS=
with_limits
with_cgroup /sys/fs/cgroup

ROLE=user AS="/bin/hog as 1000"
with_limits
explains memory_is_counted_without_a_cgroup --memory 64MiB "counted"
run --memory 64MiB -- /bin/hog file 96
check no_memory_without_a_process null 4

ROLE=delegated
echo "+memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/user/shell
chown -R 1000 /sys/fs/cgroup/user
echo $$ >/sys/fs/cgroup/user/shell/cgroup.procs
with_limits
with_cgroup /sys/fs/cgroup/user
