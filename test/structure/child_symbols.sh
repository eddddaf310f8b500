#!/bin/bash
# child_symbols.sh: the code between clone and exec calls nothing but itself and what child_symbols.txt allows; that of macOS, between fork
# and exec in a copy of a program with threads, nothing but what guard_symbols.txt does.
#
#   test/structure/child_symbols.sh [BUILD-DIRECTORY...]     (default: builds with gcc and clang, debug and release)
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

allowed=$scratch/allowed
grep -vE '^(#|$)' "$repo/test/structure/child_symbols.txt" | sort >"$allowed"

# The objects of src/run/child*_linux.c and of what they call: one library of their own, which nothing instruments.
find_objects() { # BUILD
        find "$1" -path '*/libchild.a.p/*' -name '*.o' | sort
}

called() { # OBJECT...: what they call and none of them defines
        comm -23 <(nm -u "$@" | awk '$1 == "U" || $1 == "w" { print $2 }' | sort -u) \
                <(nm --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u)
}

check_symbols() { # OBJECT...
        local extra
        [ $# -gt 0 ] && [ -e "$1" ] || {
                echo "there is no object of the child"
                return 1
        }
        extra=$(called "$@" | comm -23 - "$allowed" | grep -vxF "${ALSO:- }")
        [ -z "$extra" ] || {
                echo "it calls: $extra"
                return 1
        }
}

# Objects that call nothing may also be compiled from nothing, and a new file must not stay outside.
check_complete() { # OBJECT...
        local source name
        nm --defined-only "$@" | grep -q ' T child_init$' || {
                echo "child_init is not in it"
                return 1
        }
        for source in "$repo"/src/run/child*_linux.c; do
                name=$(basename "$source")
                [[ " $* " == *"_$name.o "* ]] || {
                        echo "$name is not compiled with the child"
                        return 1
                }
        done
}

check_build() { # NAME BUILD
        local objects
        mapfile -t objects < <(find_objects "$2")
        check "child_calls_only_what_is_allowed_in_$1" check_symbols "${objects[@]}"
        check "child_is_complete_in_$1" check_complete "${objects[@]}"
}

build_child() { # COMPILER BUILDTYPE DIRECTORY
        (
                set -e
                cd "$repo"
                CC=$1 meson setup "$3" -Dbuildtype="$2"
                nice ninja -C "$3" libchild.a
        ) >"$scratch/log" 2>&1 || tail -n 5 "$scratch/log"
}

# What nothing calls any more is taken off the list.
check_list_is_needed() { # OBJECT...
        local symbol object
        for object; do
                called "$object"
        done >"$scratch/called"
        while read -r symbol; do
                grep -qxF -- "$symbol" "$scratch/called" || {
                        echo "nothing calls $symbol"
                        return 1
                }
        done <"$allowed"
}

check_matrix() {
        local compiler type all=()
        for compiler in gcc clang; do
                for type in debug release; do
                        if ! command -v "$compiler" >/dev/null; then
                                skip "child_calls_only_what_is_allowed_in_${compiler}_$type" "$compiler is not installed"
                                continue
                        fi
                        build_child "$compiler" "$type" "$scratch/$compiler-$type"
                        check_build "${compiler}_$type" "$scratch/$compiler-$type"
                        mapfile -t -O "${#all[@]}" all < <(find_objects "$scratch/$compiler-$type")
                done
        done
        check every_allowed_symbol_is_needed check_list_is_needed "${all[@]}"
}

# ---- macOS's guard ------------------------------------------------------------------------------------------
# Compiled for Linux, with the headers of test/darwin: what it calls is the same, but for errno and how a set of descriptors is made.

compile_guard() { # COMPILER LEVEL DIRECTORY [SOURCE-OF-THE-GUARD]
        local source
        mkdir -p "$3"
        for source in "${4:-$repo/src/run/child_guard_darwin.c}" "$repo/src/run/sweep_darwin.c"; do
                "$1" -std=gnu11 "-O$2" -D_GNU_SOURCE= -U_FORTIFY_SOURCE -fno-stack-protector -I"$repo/src" -I"$repo/include" \
                        -I"$repo/test/darwin/include" -c "$source" -o "$3/$(basename "$source").o" || return
        done
}

check_guard() {
        local ALSO=memcpy allowed=$scratch/allowed-of-the-guard compiler level directory all=()
        grep -vE '^(#|$)' "$repo/test/structure/guard_symbols.txt" | sort >"$allowed"
        for compiler in gcc clang; do
                for level in 0 2; do
                        directory=$scratch/guard-$compiler-$level
                        if ! command -v "$compiler" >/dev/null; then
                                skip "the_guard_calls_only_what_is_allowed_with_${compiler}_$level" "$compiler is not installed"
                                continue
                        fi
                        compile_guard "$compiler" "$level" "$directory"
                        check "the_guard_calls_only_what_is_allowed_with_${compiler}_$level" check_symbols "$directory"/*.o
                        all+=("$directory"/*.o)
                done
        done
        check every_symbol_that_the_guard_may_call_is_needed check_list_is_needed "${all[@]}"
        {
                cat "$repo/src/run/child_guard_darwin.c"
                echo '#include <stdlib.h>'
                echo 'void planted(void **a); void planted(void **a) { *a = malloc(7); }'
        } >"$scratch/child_guard_darwin.c"
        compile_guard gcc 2 "$scratch/guard-planted" "$scratch/child_guard_darwin.c"
        check finds_a_planted_malloc_in_the_guard finds malloc check_symbols "$scratch/guard-planted/"*.o
}

if [ $# -gt 0 ]; then
        for build; do
                check_build "$(basename "$build" | tr -c 'a-zA-Z0-9\n' _)" "$build"
        done
else
        check_matrix
        check_guard
fi

# ---- and it can fail ----------------------------------------------------------------------------------------

options=(-std=gnu11 -O2 -ffreestanding -fno-stack-protector)
[ "$(uname -m)" != aarch64 ] || options+=(-mno-outline-atomics) # as in meson.build

compile() { # SOURCE OBJECT
        cc "${options[@]}" -I"$repo/src" -I"$repo/include" -c "$1" -o "$2"
}

mkdir "$scratch/objects"
for source in "$repo"/src/run/child*_linux.c "$repo"/src/policy/glob_match.c "$repo"/src/base/character.c; do
        compile "$source" "$scratch/objects/src_run_$(basename "$source").o"
done
check lets_the_child_pass_as_it_is check_symbols "$scratch"/objects/*.o

planted() { # SYMBOL CALL
        {
                cat "$repo/src/run/child_linux.c"
                printf '#include <%s.h>\n' stdio stdlib string
                echo "void planted(void *a, void *b); void planted(void *a, void *b) { (void)a; (void)b; $2; }"
        } >"$scratch/child_linux.c"
        compile "$scratch/child_linux.c" "$scratch/objects/src_run_child_linux.c.o"
        check "finds_a_planted_$1" finds "$1" check_symbols "$scratch"/objects/*.o
}

planted printf 'printf("%p %p", a, b)'
planted malloc '*(void **)a = malloc(7)'
planted memcpy 'memcpy(a, b, (size_t)*(char *)b)'
planted __errno_location '*(int *)a = *__errno_location()'
check finds_that_there_is_no_object finds "no object" check_symbols "$scratch/nowhere.o"
rm "$scratch/objects/src_run_child_mounts_linux.c.o" 2>/dev/null || rm "$scratch/objects/src_run_child_linux.c.o"
check finds_a_file_outside_the_child finds child_ check_complete "$scratch"/objects/*.o
finish
