#!/bin/bash
# files.sh: every source file opens with one sentence on its job and stays small, its functions too.
#
#   test/structure/files.sh
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

max_lines=650
max_function=80

list_files() { # SRC
        find "$1" -name '*.[ch]' | sort
}

# "/* name.c: a sentence." on the first line, ended there or further on in the same comment.
check_openings() { # SRC
        local file name first bad=0
        while IFS= read -r file; do
                name=${file##*/}
                IFS= read -r first <"$file"
                # shellcheck disable=SC2254 # the name is meant literally
                case $first in
                "/* $name: "[a-zA-Z]*) ;;
                *)
                        echo "${file#"$1"/} opens with: $first"
                        bad=1
                        continue
                        ;;
                esac
                awk 'BEGIN { RS = "\\*/" } { exit !/[.?!:][[:space:]]*$/ && !/[.][[:space:]]/ }' "$file" || {
                        echo "${file#"$1"/} has no sentence at its top"
                        bad=1
                }
        done < <(list_files "$1")
        return $bad
}

check_lengths() { # SRC
        local file count bad=0
        while IFS= read -r file; do
                count=$(wc -l <"$file")
                if [ "$count" -gt $max_lines ]; then
                        echo "${file#"$1"/} has $count lines"
                        bad=1
                fi
        done < <(list_files "$1")
        return $bad
}

# A function's body begins and ends with a brace in the first column: clang-format sees to that.
check_functions() { # SRC
        local file bad=0
        while IFS= read -r file; do
                awk -v file="${file#"$1"/}" -v max=$max_function '
                        /^[a-z].*\(/ { name = $0 }
                        /^\{/ { start = NR }
                        /^\}/ && start {
                                if (NR - start - 1 > max) {
                                        sub(/\(.*/, "", name)
                                        sub(/.*[ *]/, "", name)
                                        print file ": " name "() has " NR - start - 1 " lines"
                                        bad = 1
                                }
                                start = 0
                        }
                        END { exit bad }' "$file" || bad=1
        done < <(list_files "$1")
        return $bad
}

check_marks() { # SRC
        ! grep -rnE 'TODO|FIXME|XXX|HACK' "$1"
}

check_guards() { # SRC: a header's guard is its path
        local file guard bad=0
        while IFS= read -r file; do
                [[ $file == *.h ]] || continue
                guard=${file#"$1"/}
                guard=$(tr 'a-z/.' 'A-Z__' <<<"$guard")
                grep -q "^#ifndef $guard\$" "$file" && grep -q "^#define $guard\$" "$file" || {
                        echo "${file#"$1"/} is not guarded by $guard"
                        bad=1
                }
        done < <(list_files "$1")
        return $bad
}

# What makes a build depend on this machine or lets a library speak for itself.
check_library_is_silent() { # SRC
        local files
        mapfile -t files < <(list_files "$1" | grep -vE '/(cli|server|libc|native)/|/child_')
        ! grep -nE '\b(printf|puts|perror|abort|exit|syslog|signal|sigaction|setenv|putenv|umask|chdir|assert)[[:space:]]*\(' \
                "${files[@]}"
}

src=$repo/src
check every_file_opens_with_its_job check_openings "$src"
check no_file_is_longer_than_${max_lines}_lines check_lengths "$src"
check no_function_is_longer_than_${max_function}_lines check_functions "$src"
check nothing_is_left_to_do check_marks "$src"
check headers_are_guarded_by_their_path check_guards "$src"
check library_never_prints_exits_or_changes_its_host check_library_is_silent "$src"

# ---- and each of them can fail ------------------------------------------------------------------------------

plant() { # FILE
        rm -rf "$scratch/src"
        mkdir -p "$scratch/src/base"
        cat >"$scratch/src/base/$1"
}

plant a.c <<<'#include <stdio.h>'
check finds_a_file_without_opening finds base/a.c check_openings "$scratch/src"
plant a.c <<<'/* b.c: the wrong name. */'
check finds_an_opening_for_another_file finds base/a.c check_openings "$scratch/src"
plant a.c <<<'/* a.c: not a sentence */'
check finds_an_opening_that_is_no_sentence finds base/a.c check_openings "$scratch/src"
plant a.c < <(echo '/* a.c: long. */' && yes '' | head -n $max_lines)
check finds_a_long_file finds base/a.c check_lengths "$scratch/src"
plant a.c < <(echo 'int long_one(void)' && echo '{' && yes '        x();' | head -n $((max_function + 1)) && echo '}')
check finds_a_long_function finds 'long_one()' check_functions "$scratch/src"
plant a.c < <(echo 'int short_one(void)' && echo '{' && yes '        x();' | head -n $max_function && echo '}')
check lets_a_short_function_pass check_functions "$scratch/src"
plant a.c <<<"/* TO""DO: later */"
check finds_something_left_to_do finds base/a.c check_marks "$scratch/src"
plant a.h <<<'#ifndef A_H'
check finds_a_header_with_another_guard finds base/a.h check_guards "$scratch/src"
plant a.c <<<'        printf("hello");'
check finds_a_library_that_prints finds 'printf' check_library_is_silent "$scratch/src"
finish
