#!/bin/bash
# native.sh: modules that were compiled into native programs do what they do in other engines, and get out of nothing.
#
#   BUILD=build test/skill/native.sh [PATTERN]        tests whose names match (default: all)
#
# No sandbox is here: what refuses is the runtime in src/skill/native alone. The attempts of escape.c are real: in bare wazero and node some
# of them get out, which is counted as well. Runs as an ordinary user.
set -u
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$repo/build}
readonly PATTERN=${1:-*} uid=4343
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. "$repo/test/sums.sh"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"
skip() { # NAME REASON
        echo "skip $1 - $2"
        skipped=$((skipped + 1))
}

# As an ordinary user, from a copy that it can read.
if [ -z "${NATIVE_STAGE-}" ]; then
        NATIVE_STAGE=$(mktemp -d /var/tmp/abatis-skill.XXXXXX) || exit 1
        trap 'chmod -R u+rwx "$NATIVE_STAGE" 2>/dev/null; rm -rf "$NATIVE_STAGE"' EXIT
        export NATIVE_STAGE
        WAZERO=$(command -v wazero || { root=$("$repo/script/fetch.sh" packages "$(dpkg --print-architecture)/forky" wazero 2>/dev/null) && echo "$root/usr/bin/wazero"; })
        "$here/build.sh" "$NATIVE_STAGE/modules" || exit 1
        mkdir -p "$NATIVE_STAGE"/{bin,test/skill,scratch}
        cp "$BUILD/test/skill/skill-native" "$BUILD/abatis" "$NATIVE_STAGE/bin/" || exit 1
        [ ! -x "$WAZERO" ] || cp "$WAZERO" "$NATIVE_STAGE/bin/"
        cp "$here"/{native.sh,lib.sh,node.mjs,exchange.py} "$NATIVE_STAGE/test/skill/" && cp "$repo/test/sums.sh" "$NATIVE_STAGE/test/"
        chmod -R a+rX "$NATIVE_STAGE"
        as_user=()
        ((EUID)) || as_user=(setpriv --reuid="$uid" --regid="$uid" --clear-groups)
        ((EUID)) || chown "$uid:$uid" "$NATIVE_STAGE/scratch"
        "${as_user[@]}" env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$NATIVE_STAGE/scratch" NATIVE_STAGE="$NATIVE_STAGE" bash "$NATIVE_STAGE/test/skill/native.sh" "$@"
        exit
fi
T=$NATIVE_STAGE/scratch MODULES=$NATIVE_STAGE/modules WAZERO=$NATIVE_STAGE/bin/wazero
WASM2C=$(command -v wasm2c) COMPILER=$(command -v cc)
cd "$T" || exit 1

# ---- building ------------------------------------------------------------------------------------------------

# Leaves T/KIND/MODULE/program; says why not.
build() { # KIND MODULE [FLAG...]
        local directory=$T/$1/$2 module=$2
        shift 2
        mkdir -p "$directory/tmp"
        "$NATIVE_STAGE/bin/skill-native" "$MODULES/$module.wasm" "$directory" "$WASM2C" "$COMPILER" || return
        (
                export TMPDIR=$directory/tmp
                mapfile -d '' -t words <"$directory/translate.argv" && timeout -s KILL 60 "${words[@]}" || exit
                mapfile -d '' -t words <"$directory/compile.argv" && timeout -s KILL 120 "${words[@]}" "$@"
        ) 2>&1
}
need() { # MODULE: built now if it is not there
        [ -x "$T/native/$1/program" ] || build native "$1" >"$T/log" 2>&1 || {
                not_ok "${1}_becomes_a_program" "$(head -c 300 "$T/log")"
                return 1
        }
}

# ---- the same as in other engines ----------------------------------------------------------------------------

engines=(native)
if [ -x "$WAZERO" ]; then engines+=(wazero); else skip same_as_wazero "wazero is not here"; fi
if command -v node >/dev/null; then engines+=(node); else skip same_as_node "node is not here"; fi

# A new world, the input, and what comes out: status, output, and the files inside.
observe() { # ENGINE INPUT MODULE [ARGUMENT...]
        local engine=$1 input=$2 status
        shift 2
        make_world
        printf '%s' "$input" | run_engine "$engine" "$@" 2>"$T/errors"
        status=$?
        echo "status $status"
        (cd "$T/world/inside" && find . -type f -printf '%p %s\n' | sort)
}
same() { # NAME INPUT MODULE [ARGUMENT...]: and the native one's output is in TEXT
        local name=$1 input=$2 engine other
        shift 2
        wants "$name" || return 0
        need "$1" || return 0
        TEXT=$(observe native "$input" "$@")
        for engine in "${engines[@]:1}"; do
                other=$(observe "$engine" "$input" "$@")
                if [ "$other" = "$TEXT" ]; then ok "${name}_as_in_$engine"; else not_ok "${name}_as_in_$engine" "native: $TEXT; $engine: $other"; fi
        done
}
says() { # NAME TEXT: the last one did
        wants "$1" || return 0
        if [[ $TEXT == *"$2"* ]]; then ok "$1"; else not_ok "$1" "it said: $TEXT $(head -c 200 "$T/errors")"; fi
}

TEXT=
same greets '{"name":"Ada"}' hello && says greets '{"greeting":"hello Ada","bytes":14}'
same greets_nobody '' hello && says greets_nobody '"hello nobody"'
same shows_arguments_and_environment '' show one 'two words' '' 'ü' && says shows_arguments_and_environment 'argument 2 two words'
same reads_a_file '' files read /in/own.txt && says reads_a_file own
same reads_through_a_link_that_stays_inside '' files read /in/own-link && says reads_through_a_link_that_stays_inside own
same reads_what_may_be_read '' files read /second/given.txt && says reads_what_may_be_read given
same does_not_find_what_is_not_there '' files read /in/missing && says does_not_find_what_is_not_there 'status 1'
same does_not_find_what_was_not_given '' files read /etc/passwd && says does_not_find_what_was_not_given 'status 1'
same writes_a_file '' files write /in/sub/new.txt 'some text' && says writes_a_file './sub/new.txt 9'
same writes_again '' files write /in/own.txt '' && says writes_again './own.txt 0'
same lists_a_directory '' files list /in && says lists_a_directory own.txt
same tells_a_size '' files size /in/own.txt && says tells_a_size 'file 4'
same tells_a_directory '' files size /in/sub/ && says tells_a_directory directory
same makes_a_directory '' files make /in/new && says makes_a_directory 'status 0'
same makes_none_twice '' files make /in/sub && says makes_none_twice 'status 1'
same renames '' files rename /in/own.txt /in/sub/other && says renames './sub/other 4'
same removes '' files remove /in/own.txt && says removes 'status 0'
same removes_no_directory_with_something_in_it '' files remove /in/sub && says removes_no_directory_with_something_in_it 'status 1'
same sets_times '' files touch /in/own.txt 1234567890 && says sets_times 1234567890
for status in 0 1 7 42 255; do
        same "ends_with_$status" '' leave "$status" && says "ends_with_$status" "status $status"
        same "exits_with_$status" '' leave "$status" exit && says "exits_with_$status" "status $status"
done
same has_clocks_and_chance '' clock && says has_clocks_and_chance '{"later":1,"year":1,"random":1,"ready":1}'
same computes_the_same '' compute 1 && says computes_the_same '"primes":148933'
same grows_a_table_to_its_maximum '' grow && says grows_a_table_to_its_maximum 'status 11'
# What others do not do: node's WASI has no memory yet in a start function, and wazero takes one of the pointers.
alone() { # NAME MODULE TEXT
        wants "$1" || return 0
        need "$2" || return 0
        TEXT=$(observe native '' "$2")
        says "$1" "$3"
}
alone calls_a_start_function_first start early
alone refuses_pointers_that_are_not_its_own pointers 'status 8'

if wants lists_3000_files && need files; then # more than one buffer holds
        make_world
        mkdir "$T/world/inside/many"
        (cd "$T/world/inside/many" && for i in $(seq 3000); do : >"a-name-that-is-not-short-$i"; done)
        run_engine native files list /in/many >"$T/listed"
        find "$T/world/inside/many" -mindepth 1 -printf '%f\n' | LC_ALL=C sort | cmp -s - "$T/listed" && [ "$(wc -l <"$T/listed")" = 3000 ]
        check lists_3000_files $? "$(wc -l <"$T/listed") names"
fi

# ---- traps and limits ----------------------------------------------------------------------------------------

traps() { # NAME MODULE TEXT: with 134, and this in one line on standard error
        wants "$1" || return 0
        need "$2" || return 0
        TEXT=$(observe native '' "$2")
        [[ $TEXT == 'status 134'* && $(wc -l <"$T/errors") = 1 && $(cat "$T/errors") == *"$3"* ]]
        check "$1" $? "$TEXT $(cat "$T/errors")"
}
traps unreachable_is_a_trap trap unreachable
traps no_address_leaves_the_reservation bounds 'out of bounds'
traps a_byte_too_far_is_a_trap_though_nobody_uses_it beyond 'out of bounds'
traps an_indirect_call_of_another_type_is_a_trap indirect 'indirect call'
traps a_division_by_zero_is_a_trap divide 'division by zero'
traps an_exhausted_stack_is_a_trap stack 'stack exhausted'

if wants memory_grows_to_4_gib_and_no_further && need memory; then
        TEXT=$(observe native '' memory)
        [[ $TEXT == '{"pages":65536}'* ]]
        check memory_grows_to_4_gib_and_no_further $? "$TEXT $(cat "$T/errors")"
        TEXT=$(ulimit -d 200000 && observe native '' memory touch)
        [[ $TEXT =~ ^'{"pages":'([0-9]+)'}' ]] && ((BASH_REMATCH[1] > 1000 && BASH_REMATCH[1] < 4000))
        check memory_stops_at_a_limit_of_the_system $? "$TEXT $(cat "$T/errors")"
        TEXT=$(ulimit -v 1000000 && observe native '' memory)
        [[ $TEXT == 'status 125'* && $(cat "$T/errors") == *'no address space'* ]]
        check without_address_space_it_does_not_start $? "$TEXT $(cat "$T/errors")"
fi
if wants a_huge_table_is_refused_by_a_limit && need table; then
        TEXT=$(ulimit -d 200000 && observe native '' table)
        [[ $TEXT == 'status 125'* && $(cat "$T/errors") == *'no memory for a table'* ]]
        check a_huge_table_is_refused_by_a_limit $? "$TEXT $(cat "$T/errors")"
fi
if wants an_endless_loop_is_ended_from_outside && need loop; then
        make_world
        TEXT=$(SECONDS_LEFT=1 run_engine native loop 2>&1)
        [[ $? = 137 && $TEXT == begun* ]]
        check an_endless_loop_is_ended_from_outside $? "$TEXT"
fi
if wants a_flood_ends_when_nobody_reads && need flood; then
        make_world
        run_engine native flood | head -c 1000000 | wc -c >"$T/count"
        TEXT="${PIPESTATUS[0]} $(cat "$T/count")"
        [ "$TEXT" = '7 1000000' ]
        check a_flood_ends_when_nobody_reads $? "$TEXT"
fi

# Whatever it calls its host with, nothing faults, and nothing outside changes.
if wants calls_by_chance_do_no_harm && need random; then
        why=
        for seed in {1..10}; do
                make_world
                before=$(print_outside)
                TEXT=$(run_engine native random $seed 20000 2>&1 </dev/null | tr -cd ' -~')
                [[ ${PIPESTATUS[0]} = 0 && $TEXT == *'{"calls":20000,"refused":1'* && $before == "$(print_outside)" ]] || why+="seed $seed: $TEXT; "
        done
        [ -z "$why" ]
        check calls_by_chance_do_no_harm $? "$why"
fi

# ---- what it is started with ---------------------------------------------------------------------------------

usage() { # NAME TEXT ARGUMENT...: refused with 125, and this
        local name=$1 text=$2
        shift 2
        wants "$name" || return 0
        need show || return 0
        TEXT=$("$T/native/show/program" "$@" 2>&1)
        [[ $? = 125 && $TEXT == *"$text"* ]]
        check "$name" $? "$TEXT"
}
usage unknown_flags_are_refused usage: --anything -- show
usage a_name_is_needed 'no name' --read / /in
usage a_variable_is_not_given_so usage: --env A=1 -- show
usage a_directory_has_two_names usage: --read /tmp
usage a_directory_is_there /nowhere: --read /nowhere / -- show
if wants the_environment_is_the_programs && need show; then
        TEXT=$(env -i GIVEN=1 "$T/native/show/program" -- show)
        [ "$TEXT" = $'argument 0 show\nvariable GIVEN=1' ]
        check the_environment_is_the_programs $? "$TEXT"
fi

# ---- what cannot be compiled ---------------------------------------------------------------------------------

refused() { # NAME MODULE TEXT
        wants "$1" || return 0
        TEXT=$(build refused "$2" 2>&1)
        [[ $? != 0 && $TEXT == *"$3"* && ! -e $T/refused/$2/program ]]
        check "$1" $? "$TEXT"
}
refused an_import_that_is_not_wasi_is_refused forbidden "'env.system'"
refused a_shared_memory_is_refused shared 'threads that share it'
refused a_64_bit_memory_is_refused memory64 '64-bit addresses'
refused two_memories_are_refused memories '2 memories'
refused an_import_of_another_type_is_refused_by_the_compiler mistyped 'conflicting types'
refused vectors_are_refused_by_wasm2c simd ''
for module in "$MODULES"/broken/*.wasm; do
        name=${module##*/}
        refused "broken_${name%.wasm}_is_refused" "broken/${name%.wasm}" ''
done
# Control: the names of its exports become code if they are not taken away.
if wants names_of_exports_are_no_code; then
        TEXT=$(wasm2c --no-debug-names --module-name=skill "$MODULES/names.wasm")
        [[ $TEXT == *$'\n#error planted'* ]]
        check names_of_exports_would_be_code $? "$TEXT"
        need names && ! grep -q planted "$T"/native/names/skill.[ch] && "$T/native/names/program" -- names
        check names_of_exports_are_no_code $? "$(head -c 300 "$T/log")"
fi

# ---- paths ---------------------------------------------------------------------------------------------------

# What each attempt got: T/results.ENGINE. Fails if something outside has changed and it does not say so.
attempt() { # ENGINE NAME: sets RESULT
        local before after
        make_world
        before=$(print_outside)
        RESULT=$(cd "$T/world" && run_engine "$1" escape "$2" "$T/world/outside" 2>/dev/null </dev/null)
        after=$(print_outside)
        [ "$before" = "$after" ] || RESULT+=' CHANGED'
        RESULT=${RESULT:-nothing}
        echo "$2 $RESULT" >>"$T/results.$1"
}
if [[ $PATTERN == '*' || $PATTERN == escape* ]]; then
        need escape
        build walk escape -DBENEATH_ASKS_KERNEL=0 >"$T/log" 2>&1 || not_ok escape_builds_without_openat2 "$(head -c 300 "$T/log")"
        mapfile -t attempts < <("$T/native/escape/program" -- escape list)
        for engine in native walk; do
                for name in "${attempts[@]}"; do
                        wants "escape_${name}_of_$engine" || continue
                        attempt $engine "$name"
                        [[ $RESULT == *'"errno '* || $RESULT == *'"inside '* ]] && [[ $RESULT != *LEAK* && $RESULT != *CHANGED* ]]
                        check "escape_${name}_of_$engine" $? "$RESULT"
                done
        done
        # Somebody exchanges what is read for links that lead out, all the time. Control: wazero follows them.
        for engine in native walk wazero; do
                [[ " ${engines[*]} walk " == *" $engine "* ]] || continue
                wants "escape_race_of_$engine" || continue
                make_world
                mkdir "$T/world/inside/flip" && echo own >"$T/world/inside/flip/secret.txt" && echo own >"$T/world/inside/flip-file"
                python3 "$here/exchange.py" "$T/world/inside" flip out flip-file file &
                exchanger=$!
                RESULT=$(run_engine $engine escape race 20000 2>&1 </dev/null)
                kill $exchanger
                wait $exchanger 2>/dev/null
                if [ $engine = wazero ]; then [[ $RESULT == *SECRET* ]]; else [[ $RESULT == *'both were met'* ]]; fi
                check "escape_race_of_$engine" $? "$RESULT"
        done
        for engine in "${engines[@]:1}"; do
                wants "escapes_are_real_in_bare_$engine" || continue
                for name in "${attempts[@]}"; do
                        attempt "$engine" "$name"
                done
                count=$(grep -cE 'LEAK|CHANGED' "$T/results.$engine")
                echo "# $count of ${#attempts[@]} attempts get out of bare $engine: $(grep -E 'LEAK|CHANGED' "$T/results.$engine" | cut -d ' ' -f 1 | paste -s -d ' ')"
                ((count > 10))
                check "escapes_are_real_in_bare_$engine" $? "$(cat "$T/results.$engine")"
        done
fi

# ---- the runtime itself ---------------------------------------------------------------------------------------

if wants 'runtime_has_no_warnings_of_*' || [[ $PATTERN == runtime* ]]; then
        need show
        for compiler in gcc clang; do
                command -v $compiler >/dev/null || {
                        skip "runtime_has_no_warnings_of_$compiler" "it is not here"
                        continue
                }
                TEXT=$(for source in "$T"/native/show/skill/native/*.c; do
                        $compiler -std=gnu11 -O2 -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -DSKILL_HAS_IMPORTS=1 \
                                -isystem "$T/native/show" -c "$source" -o "$T/object.o" || exit
                done 2>&1) && [ -z "$TEXT" ]
                check "runtime_has_no_warnings_of_$compiler" $? "$TEXT"
        done
fi

# ---- the compile in a sandbox --------------------------------------------------------------------------------

# Nothing but the system is read, nothing but one directory written.
inside_sandbox() { # DIRECTORY COMMAND-FILE
        local words
        mapfile -d '' -t words <"$2"
        cat >"$T/compile.yaml" <<END
version: 1
extends: strict
filesystem:
  read: [/usr, /lib, /bin]
  write: ["$1"]
network: {mode: deny}
environment: {pass: [], set: {TMPDIR: "$1/tmp", PATH: "/usr/bin:/bin"}}
END
        (cd "$1" && timeout -s KILL 120 "$NATIVE_STAGE/bin/abatis" run --no-audit --policy "$T/compile.yaml" --workspace "$1" -- "${words[@]}" 2>&1 </dev/null)
}
if wants compiles_in_a_sandbox; then
        directory=$T/sandboxed
        mkdir -p "$directory/tmp"
        TEXT=$("$NATIVE_STAGE/bin/skill-native" "$MODULES/hello.wasm" "$directory" "$WASM2C" "$COMPILER" 2>&1 &&
                inside_sandbox "$directory" "$directory/translate.argv" && inside_sandbox "$directory" "$directory/compile.argv" &&
                "$directory/program" -- hello </dev/null)
        [[ $TEXT == '{"greeting":"hello nobody"'* ]]
        check compiles_in_a_sandbox $? "$TEXT"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
