#!/bin/bash
# run.sh: doctor --test sees that clauses hold, for everybody and where there are no namespaces; and it sees when one does not.
#
#   BUILD=/path/to/build test/doctor/run.sh [NAME-PATTERN]
#
# abatis-faulty leaves out steps that its plan names (faulty.c). What was seen to hold is written to $BUILD/verified/here.tsv, for the
# table in the README: see script/verified.py.
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
PATTERN=${1:-*}
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh
((EUID)) && ID=$EUID || ID=4343

if ! said=$(BUILD="$BUILD" ../build.sh abatis-faulty 2>&1); then
        echo "not ok doctor_builds - $(tail -n 1 <<<"$said")"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
fi
T=$(mktemp -d /var/tmp/abatis-doctor-test.XXXXXX) || exit 1
trap 'rm -rf "$T"' EXIT
chmod 755 "$T"
mkdir "$T/bin" "$T/place"
cp "$BUILD/abatis" "$BUILD/abatis-faulty" "$T/bin/"
"${CC:-cc}" -std=gnu11 -O1 -static -o "$T/bin/enter" ../tree/enter.c || exit 1
chmod 755 "$T/bin" "$T/bin/"*
chmod 1777 "$T/place"
: >"$T/rows"

# Which of them are somebody else, and somewhere else: "user", "none", "docker" and "masked" are enter's.
as() { # ROLE COMMAND...: says what it prints, and returns its code
        local role=$1 home=$T/place
        shift
        case $role in
        root) set -- env "$@" ;;
        docker-root) set -- "$T/bin/enter" 0 docker /usr/bin/env "$@" ;;
        masked-root) set -- "$T/bin/enter" 0 masked /usr/bin/env "$@" ;;
        *) set -- "$T/bin/enter" "$ID" "$role" /usr/bin/env "$@" ;;
        esac
        (cd / && env -i PATH=/usr/bin:/bin HOME="$home" ${PLACE:+TMPDIR="$PLACE"} ${FAULT:+ABATIS_FAULT="$FAULT"} \
                ASAN_OPTIONS="${ASAN_OPTIONS-}" timeout -s KILL 120 "$@" </dev/null)
}

# What is left of a run: files, memory, processes.
left_files() {
        find "$T/place" /tmp/abatis-doctor.* /var/tmp/abatis-doctor.* /dev/shm/abatis-doctor.* 2>/dev/null
}
left() {
        left_files
        cut -d' ' -f1-40 /proc/sysvipc/shm | wc -l
        pgrep -f "$T|/abatis-doctor\." | grep -vxE "$$|$BASHPID" | while read -r pid; do
                [ ! -e "/proc/$pid" ] || tr '\0' ' ' <"/proc/$pid/cmdline"
        done | grep -v "$T/bin/enter\|run.sh"
}

# ---- it sees that all holds ----
# With "?": unless there is a cgroup to be had, or, of abstract sockets, Landlock's ABI 6.
bare=(native:filesystem.read "native:process.privacy, names too" native:network.bind native:limits.processes?)
bubblewrap=("bwrap:filesystem.deny of what is absent" "bwrap:filesystem.deny of a pattern" bwrap:process.commands bwrap:process.executable_memory "bwrap:network.mode list"
        bwrap:network.connect bwrap:network.unix bwrap:network.bind "bwrap:session shared" bwrap:limits.connections
        bwrap:limits.connections_per_second bwrap:limits.traffic bwrap:filesystem.execute "bwrap:network.abstract none?" bwrap:limits.memory? bwrap:limits.cpu? bwrap:limits.written?)
without_descriptors=("native:network.mode list" native:network.connect native:network.unix native:limits.connections
        native:limits.connections_per_second native:limits.traffic)

sees() { # ROLE COLUMN REFUSED...
        local role=$1 column=$2 code before said
        wants "${role}_is_seen_to_be_protected" || return 0
        before=$(left)
        PLACE=$T/place as "$role" "$T/bin/abatis" doctor --test --json >"$T/report" 2>"$T/err"
        code=$?
        if said=$(python3 judge.py good "$T/report" "${@:3}" 2>&1) && [ "$code" = 0 ] && [ ! -s "$T/err" ]; then
                ok "${role}_is_seen_to_be_protected"
        else
                not_ok "${role}_is_seen_to_be_protected" "exit $code: ${said:0:400} $(head -c 200 "$T/err")"
        fi
        check "${role}_has_nothing_left" "$([ "$before" = "$(left)" ]; echo $?)" "$(left)"
        python3 judge.py rows "$T/report" "$column" >>"$T/rows"
}

if as user "$T/bin/abatis" doctor --json | grep -q '"namespaces": "none"'; then
        echo "skip user_is_seen_to_be_protected - there are no namespaces for users here"
        skipped=$((skipped + 1))
else
        sees user native "${bubblewrap[@]}"
        ! wants user_is_seen_to_be_protected || cp "$T/report" "$T/good"
fi
sees none "native, no namespaces" "${bare[@]}"
sees docker "native, no namespaces" "${bare[@]}" "${without_descriptors[@]}"
if ((EUID)); then
        echo "skip root_is_seen_to_be_protected - this is not root"
        skipped=$((skipped + 1))
else
        sees masked "native, no namespaces" "${bare[@]}"
        sees root "native, as root" native:limits.processes?
        sees docker-root "native, no namespaces" "${bare[@]}" "${without_descriptors[@]}"
fi

# ---- and when it does not ----
misses() { # ROLE FAULT CLAUSE...
        local name="a_${1}_without_${2//[,-]/_}_is_found" code said
        wants "$name" || return 0
        PLACE=$T/place FAULT=$2 as "$1" "$T/bin/abatis-faulty" doctor --test --json >"$T/report" 2>"$T/err"
        code=$?
        printf '%s\n' "${@:3}" >>"$T/missed"
        said=$(python3 judge.py bad "$T/report" "${@:3}" 2>&1) && [ "$code" = 1 ]
        check "$name" $? "exit code $code: $said $(head -c 200 "$T/err")"
}
# With no fault it is like the other.
wants an_abatis_without_fault_is_good && {
        PLACE=$T/place as user "$T/bin/abatis-faulty" doctor --test >"$T/report" 2>&1
        check an_abatis_without_fault_is_good $? "$(grep -E 'NOT|untested' "$T/report")"
}
misses user hide filesystem.deny bwrap:filesystem.deny
misses user protect filesystem.protect bwrap:filesystem.protect
misses user private-tmp "filesystem.tmp private" "bwrap:filesystem.tmp private"
misses user seccomp,broker,loopback process.kernel process.privileges "network.mode deny" "network.mode unix-only" \
        bwrap:process.kernel bwrap:process.privileges "bwrap:network.mode deny"
misses user landlock "network.abstract none"
misses user landlock,mode "bwrap:network.abstract none" "bwrap:network.mode unix-only"
misses user broker "filesystem.deny of a pattern"
misses user world,landlock,broker filesystem.write "filesystem.deny of what is absent" bwrap:filesystem.write bwrap:process.devices
misses user pids,proc,new-root,enter-root,link,show,landlock,sweeping filesystem.read process.privacy "process.privacy, names too" \
        process.lifetime bwrap:filesystem.read bwrap:process.privacy "bwrap:process.privacy, names too" bwrap:process.lifetime
misses user own-session,closing process.terminal process.descriptors bwrap:process.terminal bwrap:process.descriptors
misses user calls process.fork process.system_calls process.executable_memory bwrap:process.fork bwrap:process.system_calls
misses user ipc,private-shm process.ipc bwrap:process.ipc
misses user network network.connect
misses user connections,bind,porter network.bind "session shared" limits.connections limits.connections_per_second limits.traffic
misses user mode,network,broker,hosts,loopback,seccomp "network.mode list" network.unix
misses user limit limits.open_files limits.file_size limits.processes bwrap:limits.open_files bwrap:limits.file_size bwrap:limits.processes
misses user count,cgroup,limit limits.memory limits.written limits.cpu
misses user environment,arguments,output,deadline environment process.check_arguments limits.output limits.timeout \
        bwrap:environment bwrap:process.check_arguments bwrap:limits.output bwrap:limits.timeout
misses none landlock,broker filesystem.write filesystem.execute process.commands process.privacy process.devices process.ipc
misses none own-tmp "filesystem.tmp private"
misses none streams network.connect
misses none connections,porter "session shared" limits.connections limits.connections_per_second limits.traffic
misses none sweeping,closing,own-session,seccomp,broker,streams,landlock process.lifetime process.descriptors process.terminal \
        "filesystem.deny of what is absent" "network.mode list" network.unix
if [ "$PATTERN" != '*' ] || [ ! -s "$T/good" ]; then
        echo "skip every_clause_was_left_out_once - not all of it was run"
        skipped=$((skipped + 1))
else
        said=$(python3 judge.py complete "$T/good" "$T/missed" ../../src/plan/plan.c ../../src/policy/keys.c 2>&1)
        check every_clause_was_left_out_once $? "$said"
fi

# ---- as text, and what is wrong with it ----
says() { # NAME CODE WORDS COMMAND...
        local code
        wants "$1" || return 0
        TEXT=$("${@:4}" 2>&1)
        code=$?
        [ "$code" = "$2" ] && [[ $TEXT == *"$3"* ]]
        check "$1" $? "exit code $code: ${TEXT: -300}"
}
one_line() { # NAME CODE WORDS COMMAND...
        says "$@"
        ! wants "$1" || check "$1_in_one_line" "$([ "$(wc -l <<<"$TEXT")" = 1 ]; echo $?)" "$TEXT"
}
says a_text_ends_with_the_verdict 0 'Everything that is claimed was seen to hold.' as user "$T/bin/abatis" doctor --test
! wants a_text_names_clause_and_means || check a_text_names_clause_and_means \
        "$(grep -qE '^  held +filesystem.deny +5 ways; mount mask \(mode 000, read-only\)$' <<<"$TEXT"; echo $?)" "$TEXT"
FAULT=hide says a_text_cries_out 1 'NOT HELD filesystem.deny ' as user "$T/bin/abatis-faulty" doctor --test
PLACE=/nowhere/to/be/found says a_place_that_is_not_there_is_done_without 0 'was seen to hold' as user "$T/bin/abatis" doctor --test
PLACE=$T/place/$(printf '%0100d' 0) says one_that_is_too_long_too 0 'was seen to hold' as user "$T/bin/abatis" doctor --test
mkdir -m 1777 "$T/place/with \"quotes"
PLACE="$T/place/with \"quotes" says and_one_with_quotes 0 'was seen to hold' as user "$T/bin/abatis" doctor --test
rmdir "$T/place/with \"quotes"
one_line a_word_too_many 125 "doctor takes no argument 'more'" as user "$T/bin/abatis" doctor --test more
one_line a_flag_of_others 125 'does not go with this verb' as user "$T/bin/abatis" run --test true
one_line a_flag_misspelt 125 "did you mean '--test'" as user "$T/bin/abatis" doctor --tets
if ((EUID == 0)); then
        # Nowhere can a program be started that was put there.
        one_line no_place_at_all 125 'it needs a directory in which programs can be started' unshare -m sh -c \
                'cp "$1" /dev/shm/abatis-$$ && for d in /tmp /var/tmp; do mount -t tmpfs -o noexec,mode=1777 x $d; done
                /dev/shm/abatis-$$ doctor --test --json </dev/null; code=$?; rm /dev/shm/abatis-$$; exit $code' sh "$T/bin/abatis"
fi

# ---- the verb that runs inside ----
mkdir -p "$T/place/abatis-doctor.abcdef/bin"
cp "$T/bin/abatis" "$T/place/abatis-doctor.abcdef/bin/probe"
ln -s "$T/bin/abatis" "$T/place/abatis-doctor.abcdef/bin/other"
says the_verb_of_trials_works_in_a_copy 0 0 as user "$T/place/abatis-doctor.abcdef/bin/probe" doctor-inside look /
one_line and_is_refused_to_everybody_else 125 'doctor-inside is for the copies' as user "$T/bin/abatis" doctor-inside look /
one_line by_another_name_too 125 'doctor-inside is for the copies' as user "$T/place/abatis-doctor.abcdef/bin/other" doctor-inside look /
rm -r "$T/place/abatis-doctor.abcdef"

# ---- somebody ends it ----
ends_by() { # SIGNAL
        local pid before files name=nothing_is_left_after_$1
        wants "$name" || return 0
        before=$(left)
        files=$(left_files)
        # Its number is that of the last exec: enter becomes it.
        as user "$T/bin/abatis" doctor --test --json >"$T/report" 2>"$T/err" &
        until pgrep -f 'abatis doctor-inside|/bin/probe doctor-inside' -u "$ID" >/dev/null; do sleep 0.01; done
        pid=$(pgrep -o -u "$ID" -f "^$T/bin/abatis doctor --test")
        kill -s "$1" "$pid"
        wait $!
        # Who can still do something does it before the end.
        [ "$1" = KILL ] || check "no_file_is_there_at_the_end_by_$1" "$([ "$files" = "$(left_files)" ]; echo $?)" "$(left_files)"
        check "it_is_ended_by_$1" "$([ ! -s "$T/report" ]; echo $?)" "$(head -c 200 "$T/report")"
        for _ in {1..1000}; do
                [ "$before" != "$(left)" ] || break
                sleep 0.01
        done
        check "$name" "$([ "$before" = "$(left)" ]; echo $?)" "$(left)"
}
ends_by INT
ends_by TERM
ends_by HUP
ends_by KILL

# ---- for the README ----
if [ "$PATTERN" = '*' ] && ((failed == 0)); then
        mkdir -p "$BUILD/verified"
        {
                echo "# $(uname -s) $(uname -r | cut -d. -f1,2), $(uname -m)$(! type -P bwrap >/dev/null || printf ', bubblewrap %s' "$(bwrap --version | cut -d' ' -f2)")"
                sort -u "$T/rows" | sed 's/$/\there/'
        } >"$BUILD/verified/here.tsv"
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
