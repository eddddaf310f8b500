# terminals.sh: terminals that the command makes, and those of others. For run.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # run.sh counts, and knows who and where

# What asks the broker about the least, about writes, and about everything.
terminal_flags() { # HOW
        case $1 in
        seldom) FLAGS=() ;;
        of_writes) FLAGS=(--protect "$T/world/ws/file") ;;
        always) FLAGS=(--deny-glob '**/.env') ;;
        esac
}
terminals() { bare "$T/bin/abatis" run --no-audit "${FLAGS[@]}" -- "$@"; }

# Whoever starts the sandbox has a terminal, and a shell in the sandbox none. The control is the same without a sandbox.
other_terminal='
import os, subprocess, sys
master, slave = os.openpty()
sys.exit(subprocess.run(sys.argv[1:] + ["refuse", os.ttyname(slave)], stdin=subprocess.DEVNULL).returncode)'

test_terminals_of() { # HOW
        local name line count=0 all=10 errors control FLAGS
        terminal_flags "$1"
        # Where files are not asked about, no terminal is opened by its name: two of them do.
        [[ $1 == seldom ]] && all=8
        if wants "terminals_asked_$1$AS"; then
                fresh
                terminals python3 "$T/bin/terminals.py"
                while read -r line; do
                        [[ $line == ok\ * ]] && ok "${line#ok }_asked_$1$AS" && count=$((count + 1))
                done <<<"$TEXT"
                [[ $count == "$all" ]] || not_ok "terminals_asked_$1$AS" "$TEXT"
        fi
        name=what_is_no_near_end_has_none_asked_$1$AS
        if wants "$name"; then
                fresh
                bare python3 "$T/bin/terminals.py" errors
                errors=$TEXT
                terminals python3 "$T/bin/terminals.py" errors
                [[ $TEXT == "$errors" && $(wc -l <<<"$TEXT") == 11 ]] && ok "$name" || not_ok "$name" "$TEXT, not $errors"
        fi
        name=terminal_of_somebody_else_is_closed_asked_$1$AS
        if wants "$name"; then
                fresh
                bare python3 -c "$other_terminal" python3 "$T/bin/terminals.py"
                control=$(wc -l <<<"$TEXT")
                fresh
                bare python3 -c "$other_terminal" "$T/bin/abatis" run --no-audit "${FLAGS[@]}" -- \
                        python3 "$T/bin/terminals.py"
                [[ $? == 0 && $control == 9 && ! $TEXT ]] && ok "$name" ||
                        not_ok "$name" "$control ways without a sandbox; in it: $TEXT"
        fi
}

# Somebody makes and closes terminals all the time, whose numbers are the command's own a moment before.
test_terminal_races() {
        local how race name other='' control FLAGS
        for race in name peer; do
                for how in seldom of_writes always; do
                        name=terminal_of_somebody_else_is_not_won_by_${race}_asked_$how$AS
                        [[ $race$how == nameseldom ]] && continue
                        wants "$name" || continue
                        if [[ ! $other ]]; then
                                "$T/bin/enter" "$ID" none "$T/bin/terminals" other &
                                other=$!
                        fi
                        terminal_flags "$how"
                        fresh
                        bare "$T/bin/terminals" name "$SLOW_ROUNDS"
                        control=$TEXT
                        fresh
                        terminals "$T/bin/terminals" "$race" "$SLOW_ROUNDS"
                        [[ $control != *" 0 of somebody else" && $TEXT == [1-9]*" opened, 0 of somebody else" ]] && ok "$name" ||
                                not_ok "$name" "$TEXT; without a sandbox $control"
                done
        done
        if [[ $other ]]; then
                kill "$other"
                wait "$other" 2>/dev/null
        fi
}

# Runs the rest where a file system of terminals is mounted at PLACE; or, if that is /dev, all of it as containers have it, where
# /dev/ptmx is a link. Exits with 77 if it cannot.
readonly with_terminals='
place=$1 at=$2
shift 2
mkdir -p "$at" && mount -t tmpfs -o mode=755 tmpfs "$at" && mkdir "$at/pts" &&
        mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$at/pts" && ln -s pts/ptmx "$at/ptmx" || exit 77
if [[ $place == /dev ]]; then
        for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
                IFS=: read -r name major minor <<<"$node"
                mknod -m 666 "$at/$name" c "$major" "$minor" || exit 77
        done
        ln -s /proc/self/fd "$at/fd" && mount --move "$at" /dev || exit 77
fi
exec "$@"'
somewhere() { # PLACE COMMAND...
        local code place=$1
        shift
        TEXT=$(cd "$T/world/ws" && HOME=$T/world/home XDG_STATE_HOME='' TMPDIR='' timeout -s KILL 100 unshare -m \
                bash -c "$with_terminals" - "$place" "$T/world/dev" "$T/bin/enter" "$ID" none /usr/bin/env "$@" 2>&1 </dev/null)
        code=$?
        return "$code"
}

# Whoever starts this has a terminal of the host's, and makes others of the same number in another mount.
borrowed_terminal='
import os, subprocess, sys
master, slave = os.openpty()
sys.exit(subprocess.run(sys.argv[2:] + ["borrow", sys.argv[1], os.ttyname(slave)[9:]], stdin=subprocess.DEVNULL).returncode)'

test_other_mounts() {
        local code control how FLAGS name=terminals_of_a_container$AS
        ((EUID)) && return
        if wants "$name"; then
                fresh
                somewhere /dev "$T/bin/abatis" run --no-audit --deny-glob '**/.env' -- python3 "$T/bin/terminals.py"
                code=$?
                if [[ $code == 77 ]]; then
                        echo "skip $name - there are no such mounts"
                        skipped=$((skipped + 1))
                elif [[ $code == 0 && $(grep -c '^ok ' <<<"$TEXT") == 10 ]]; then
                        ok "$name"
                else
                        not_ok "$name" "exit $code: $TEXT"
                fi
        fi
        for how in seldom always; do
                name=terminal_of_another_mount_opens_none_of_this_asked_$how$AS
                wants "$name" || continue
                terminal_flags "$how"
                fresh
                somewhere elsewhere python3 -c "$borrowed_terminal" "$T/world/dev/pts/ptmx" python3 "$T/bin/terminals.py"
                code=$?
                if [[ $code == 77 ]]; then
                        echo "skip $name - there are no such mounts"
                        skipped=$((skipped + 1))
                        continue
                fi
                control=$TEXT
                fresh
                somewhere elsewhere python3 -c "$borrowed_terminal" "$T/world/dev/pts/ptmx" "$T/bin/abatis" run --no-audit \
                        "${FLAGS[@]}" -- python3 "$T/bin/terminals.py"
                code=$?
                [[ $code == 0 && $control == there && $TEXT == "not there" ]] && ok "$name" ||
                        not_ok "$name" "exit $code: $TEXT; without a sandbox $control"
        done
}

# A directory that is denied is denied with the devices in it.
test_denied_devices() {
        local path name code
        for path in /dev /dev/pts /dev/ptmx /dev/zero; do
                name=devices_of_a_denied_${path//\//_}$AS
                wants "$name" || continue
                fresh
                bare "$T/bin/abatis" run --no-audit --deny "$path" -- python3 -c '
import os, sys
closed = []
for path in ("/dev/zero", "/dev/ptmx"):
    try:
        os.open(path, os.O_RDWR)
    except PermissionError:
        closed.append(path)
try:
    os.openpty()
except OSError:
    closed.append("pts")
print(*closed)'
                code=$?
                case $path${TEXT##*$'\n'} in
                "/dev/dev/zero /dev/ptmx pts" | /dev/ptspts | "/dev/ptmx/dev/ptmx pts" | /dev/zero/dev/zero)
                        [[ $code == 0 ]] && ok "$name" || not_ok "$name" "exit $code" ;;
                *) not_ok "$name" "exit $code: $TEXT" ;;
                esac
        done
}

test_terminals() {
        local how
        test_other_mounts
        test_denied_devices
        for how in seldom of_writes always; do
                test_terminals_of "$how"
        done
        test_terminal_races
        says "a_session_is_recorded$AS" hello sh -c \
                'script -qec "test -t 1 && echo hello" typescript </dev/null >/dev/null && grep -o "^hello" typescript'
        says "libc_opens_a_terminal$AS" hello "$T/bin/terminals" open
        # It opens the far end by name.
        if [[ -x $T/bin/terminals-musl ]] && wants "musl_opens_a_terminal$AS"; then
                fresh
                guarded -- "$T/bin/terminals-musl" open
                [[ $? == 0 && $TEXT == hello ]] && ok "musl_opens_a_terminal$AS" || not_ok "musl_opens_a_terminal$AS" "$TEXT"
        elif [[ ! -x $T/bin/terminals-musl ]] && wants "musl_opens_a_terminal$AS"; then
                echo "skip musl_opens_a_terminal$AS - there is no musl-gcc"
                skipped=$((skipped + 1))
        fi
        if command -v node >/dev/null; then
                says "node_has_a_terminal$AS" 'true 80' python3 -c '
import fcntl, os, pty, struct, termios
child, master = pty.fork()
if not child:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execvp("node", ["node", "-e", "process.stdout.write(process.stdout.isTTY + \" \" + process.stdout.columns)"])
data = b""
try:
    while chunk := os.read(master, 100):
        data += chunk
except OSError:
    pass
print(data.decode().strip())'
        fi
}
