#!/bin/bash
# exports.sh: the shared library exports exactly what the public header declares, and the header stands alone.
#
#   test/structure/exports.sh [BUILD-DIRECTORY]              (default: $BUILD, or build)
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

build=${1:-${BUILD:-$repo/build}}
header=$repo/include/abatis.h

declared() { # HEADER: the functions behind ABATIS_API, sorted
        grep -v '^[[:space:]]*#' "$1" | tr '\n' ' ' | grep -oE 'ABATIS_API [^(;]*\(' | grep -oE '[a-z0-9_]+\($' |
                tr -d '(' | sort
}

exported() { # LIBRARY: name and version of each symbol, sorted
        nm -D --defined-only --with-symbol-versions "$1" | awk '$2 != "A" { print $3 }' | sort
}

check_exports() { # LIBRARY HEADER
        local wanted have
        wanted=$(declared "$2" | sed 's/$/@@ABATIS_0/')
        have=$(exported "$1")
        [ -n "$have" ] && [ "$wanted" = "$have" ] && return 0
        diff <(echo "$wanted") <(echo "$have") | grep '^[<>]' | sed 's/^</missing:/;s/^>/too much:/'
        return 1
}

check_every_declaration_is_marked() { # HEADER
        # A function without the mark would be hidden, and found missing only by whoever links against it.
        local unmarked
        unmarked=$(sed 's|/\*.*\*/||' "$1" | grep -E '^[a-z].*\babatis_[a-z_]+\(' | grep -v '^ABATIS_API') || return 0
        echo "$unmarked"
        return 1
}

check_soname() { # LIBRARY
        readelf -d "$1" | grep SONAME | grep -q '\[libabatis\.so\.0\]' || {
                readelf -d "$1" | grep SONAME
                return 1
        }
}

check_dependencies() { # LIBRARY: libc, jansson and libyaml; the sanitizers' own when the build has them
        local extra
        extra=$(readelf -d "$1" | grep NEEDED | grep -vE '\[(libc\.so|libjansson\.so|libyaml-0|ld-linux|libasan|libubsan|libclang_rt|libgcc_s|libm\.so|libresolv)')
        [ -z "$extra" ] || {
                echo "$extra"
                return 1
        }
}

check_alone() { # COMPILER HEADER FLAGS...
        local compiler=$1 file=$2
        shift 2
        "$compiler" "$@" -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only "$file"
}

library=$(find "$build" -maxdepth 1 -name 'libabatis.so.*.*' -type f | head -n 1)
if [ -z "$library" ]; then
        echo "not ok shared_library_is_built - no libabatis.so in $build"
        failed=1
        finish
        exit 1
fi

check library_exports_exactly_what_the_header_declares check_exports "$library" "$header"
check every_public_function_is_marked check_every_declaration_is_marked "$header"
check library_has_its_soname check_soname "$library"
check library_needs_libc_and_two_parsers_only check_dependencies "$library"

# Used as a library's user does: included, twice, with the macro expanded.
cat >"$scratch/alone.c" <<'END'
#include <abatis.h>
#include <abatis.h>
int use(void);
int use(void)
{
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_error error;

        error.code = options.capture;
        return error.code + ABATIS_VERSION_MAJOR + (abatis_version() != NULL);
}
END
cp "$scratch/alone.c" "$scratch/alone.cc"
for compiler in gcc clang; do
        command -v $compiler >/dev/null || {
                skip "header_is_clean_c11_for_$compiler" "$compiler is not installed"
                continue
        }
        check "header_is_clean_c11_for_$compiler" check_alone $compiler "$scratch/alone.c" -std=c11 \
                -Wstrict-prototypes -I"$repo/include"
        check "header_is_clean_c99_for_$compiler" check_alone $compiler "$scratch/alone.c" -std=c99 -I"$repo/include"
done
for compiler in g++ clang++; do
        command -v $compiler >/dev/null || {
                skip "header_is_clean_cxx17_for_$compiler" "$compiler is not installed"
                continue
        }
        for standard in 11 17 20; do
                check "header_is_clean_cxx${standard}_for_$compiler" check_alone $compiler "$scratch/alone.cc" \
                        -std=c++$standard -I"$repo/include"
        done
done

# ---- and each of them can fail ------------------------------------------------------------------------------

sed 's/^ABATIS_API const char \*abatis_version(void);/ABATIS_API int abatis_planted(void);/' "$header" \
        >"$scratch/planted.h"
check finds_a_function_that_is_not_exported finds 'missing: abatis_planted' check_exports "$library" "$scratch/planted.h"
check finds_a_function_that_is_not_declared finds 'too much: abatis_version' check_exports "$library" \
        "$scratch/planted.h"
echo 'int abatis_stray(void);' >>"$scratch/planted.h"
check finds_a_declaration_without_mark finds abatis_stray check_every_declaration_is_marked "$scratch/planted.h"
cat >"$scratch/unversioned.c" <<'END'
__attribute__((visibility("default"))) int abatis_version(void);
int abatis_version(void) { return 0; }
END
cc -shared -fPIC -o "$scratch/unversioned.so" "$scratch/unversioned.c"
check finds_a_symbol_without_version finds 'too much: abatis_version' check_exports "$scratch/unversioned.so" "$header"
check finds_a_wrong_soname finds '' check_soname "$scratch/unversioned.so"
(cat "$header" && echo 'int class(int new);') >"$scratch/abatis.h"
check finds_a_header_that_is_no_cxx finds class check_alone g++ "$scratch/alone.cc" -std=c++17 -I"$scratch"
finish
