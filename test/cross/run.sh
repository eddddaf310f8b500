#!/bin/bash
# run.sh: abatis is built for the other architecture and for macOS, and each program is one of that processor and system.
#
#   test/cross/run.sh        leaves build-TARGET/abatis; needs what script/setup.sh cross installs, and the network for the first time
set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0 failed=0

check() { # NAME COMMAND...
        local name=$1 said
        shift
        if said=$("$@" 2>&1); then
                echo "ok $name"
                passed=$((passed + 1))
        else
                echo "not ok $name - $(tail -n 3 <<<"$said" | tr '\n' ';')"
                failed=$((failed + 1))
        fi
}

build() { # TARGET
        mkdir -p "build-$1"
        script/cross.sh "$1" "build-$1" >"build-$1/log" 2>&1 </dev/null || {
                grep -m 3 -E 'error|cross:|fetch:|ERROR|FAILED' "build-$1/log" || tail -n 3 "build-$1/log"
                return 1
        }
}

has_no_warnings() { # TARGET
        ! grep -E 'warning:' "build-$1/log"
}

says() { # TARGET FACT...: all of these, and nothing else
        local target=$1
        shift
        diff <(printf '%s\n' "$@" | sort) <(python3 test/cross/facts.py "build-$target/abatis" | sort)
}

finds_another() { # WORD OTHER: the facts of one program, but for this
        local facts
        mapfile -t facts < <(python3 test/cross/facts.py build-macos-arm64/abatis)
        says macos-arm64 "${facts[@]}" && ! says macos-arm64 "${facts[@]/$1/$2}"
}

# The only library: nothing but the system is looked up when it starts. Which symbols of it there are is the linker's question.
check_macos() { # ARCH FACT...
        check "macos_$1_builds" build "macos-$1"
        check "macos_$1_has_no_warnings" has_no_warnings "macos-$1"
        check "macos_$1_is_a_program_that_needs_libSystem_alone" says "macos-$1" "format Mach-O" "cpu $1" "kind executable" \
                "library /usr/lib/libSystem.B.dylib" "for macOS 11.0" "has an entry" "${@:2}"
}

other=$([ "$(uname -m)" = aarch64 ] && echo amd64 || echo arm64)
check "linux_${other}_builds" build "$other"
check "linux_${other}_has_no_warnings" has_no_warnings "$other"
check "linux_${other}_is_a_static_program" says "$other" "format ELF" "cpu $other" "kind executable"
check_macos arm64 signed # that processor's kernel starts nothing that is not
check_macos amd64
# The check can tell them apart.
check another_processor_is_found finds_another "cpu arm64" "cpu amd64"
check another_library_is_found finds_another libSystem.B libobjc.A
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
