#!/bin/bash
# layers.sh: includes go in one direction: cli -> server, agents -> abatis.h -> lib -> backend, run, audit, skill -> plan -> policy -> base.
#
#   test/structure/layers.sh
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Every include of the tree: FILE KIND NAME, where the kind is " or <.
list_includes() { # SRC
        (cd "$1" && find . -name '*.[ch]' -printf '%P\n' | sort | while IFS= read -r file; do
                sed -nE "s|^[[:space:]]*#[[:space:]]*include[[:space:]]*([\"<])([^\">]*)[\">].*|$file \1 \2|p" "$file"
        done)
}

# What each folder may include besides itself and abatis.h.
may_include() { # FOLDER
        case $1 in
        cli) echo server agents ;;
        server | agents | verify) echo base ;;
        libc) echo ;;
        lib) echo backend run net watch audit skill plan policy base ;;
        backend | run) echo plan policy base ;;
        net | watch | audit | skill) echo plan policy base ;;
        plan) echo policy base ;;
        policy) echo base ;;
        base) echo ;;
        *) return 1 ;;
        esac
}

check_direction() { # SRC FOLDER
        local src=$1 folder=$2 allowed file kind name bad=0
        allowed=" $folder $(may_include "$folder") " || {
                echo "src/$folder is in no layer"
                return 1
        }
        while read -r file kind name; do
                [[ $file == "$folder"/* && $kind == '"' && $name != abatis.h ]] || continue
                if [[ $name != */* || $name == *..* ]]; then
                        echo "src/$file includes \"$name\", not by its folder"
                        bad=1
                elif [[ $allowed != *" ${name%%/*} "* ]]; then
                        echo "src/$file includes \"$name\""
                        bad=1
                fi
        done < <(list_includes "$src")
        return $bad
}

check_folders() { # SRC: every folder has a place, and no file lies beside them
        local path bad=0
        for path in "$1"/*; do
                if [ ! -d "$path" ] || ! may_include "${path##*/}" >/dev/null; then
                        echo "src/${path##*/} is in no layer"
                        bad=1
                fi
        done
        return $bad
}

# The kernel's own headers are seen in run/ only, in files that say which system they are for.
check_kernel_headers() { # SRC
        local file kind name bad=0
        while read -r file kind name; do
                if [[ $kind == '<' && $name == linux/* && $file != run/*_linux.[ch] ]]; then
                        echo "src/$file includes <$name>"
                        bad=1
                fi
        done < <(list_includes "$1")
        return $bad
}

check_windows_headers() { # SRC
        local file kind name bad=0 others=" aclapi.h bcrypt.h objbase.h sddl.h shellapi.h shlobj.h windows.h winioctl.h winternl.h "
        while read -r file kind name; do
                if [[ $kind == '<' && $others == *" $name "* && $file != *_windows.[ch] ]]; then
                        echo "src/$file includes <$name>"
                        bad=1
                fi
        done < <(list_includes "$1")
        return $bad
}

# A backend is a pure function: it sees the C library's data types and strings, also through the headers it includes.
check_backend_is_pure() { # SRC
        local src=$1 pure=" ctype.h inttypes.h limits.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h "
        local -A seen=()
        local queue=() file path kind name bad=0 includes
        includes=$(list_includes "$src")
        mapfile -t queue < <(cd "$src" && find backend -name '*.[ch]')
        while [ ${#queue[@]} -gt 0 ]; do
                file=${queue[0]} queue=("${queue[@]:1}")
                [ -z "${seen[$file]-}" ] || continue
                seen[$file]=1
                while read -r path kind name; do
                        [ "$path" = "$file" ] || continue
                        if [[ $kind == '<' && $pure != *" $name "* ]]; then
                                echo "src/backend sees <$name> through src/$file"
                                bad=1
                        elif [[ $kind == '"' && -e $src/$name ]]; then
                                queue+=("$name")
                        fi
                done <<<"$includes"
        done
        return $bad
}

check_public_header() { # HEADER
        if grep -E '^[[:space:]]*#[[:space:]]*include' "$1" | grep -vE '<(stddef|stdint)\.h>'; then
                return 1
        fi
}

for path in "$repo"/src/*/; do
        folder=$(basename "$path")
        check "includes_of_${folder}_go_downwards" check_direction "$repo/src" "$folder"
done
check every_folder_has_its_layer check_folders "$repo/src"
check kernel_headers_stay_in_run check_kernel_headers "$repo/src"
check windows_headers_stay_in_files_of_its_own check_windows_headers "$repo/src"
check backend_sees_no_operating_system check_backend_is_pure "$repo/src"
check public_header_needs_two_standard_headers check_public_header "$repo/include/abatis.h"

# ---- and each of them can fail ------------------------------------------------------------------------------

# The tree with one more line in one file.
plant() { # FILE LINE
        rm -rf "$scratch/src"
        cp -r "$repo/src" "$scratch/src"
        mkdir -p "$(dirname "$scratch/src/$1")"
        echo "$2" >>"$scratch/src/$1"
}

planted() { # NAME FILE LINE CHECK [ARG...]
        local name=$1 file=$2 line=$3
        shift 3
        plant "$file" "$line"
        check "finds_$name" finds "$file" "$1" "$scratch/src" "${@:2}"
}

planted an_internal_header_in_cli cli/main.c '#include "policy/policy.h"' check_direction cli
planted an_internal_header_in_server server/task.c '#include "run/run.h"' check_direction server
planted a_policy_in_server server/setting.c '#include "policy/policy.h"' check_direction server
planted a_server_that_sees_cli server/server.c '#include "cli/cli.h"' check_direction server
planted an_agents_that_sees_policy agents/wrap.c '#include "policy/policy.h"' check_direction agents
planted a_lib_that_sees_server lib/abatis.c '#include "server/server.h"' check_direction lib
planted a_verifier_that_sees_skill verify/verify.c '#include "skill/package.h"' check_direction verify
planted a_skill_that_sees_run skill/tier.c '#include "run/run.h"' check_direction skill
planted a_backend_that_sees_run backend/native.c '#include "run/run.h"' check_direction backend
planted a_run_that_sees_backend run/job_linux.c '  #  include "backend/backend.h"' check_direction run
planted a_policy_that_sees_plan policy/check.c '#include "plan/plan.h"' check_direction policy
planted a_plan_that_sees_run plan/print.c '#include "run/run.h"' check_direction plan
planted a_base_that_sees_policy base/text.h '#include "policy/policy.h"' check_direction base
planted a_lib_header_in_run run/run.h '#include "lib/abatis_private.h"' check_direction run
planted an_audit_that_sees_run audit/log.c '#include "run/run.h"' check_direction audit
planted a_run_that_sees_audit run/job_linux.c '#include "audit/audit.h"' check_direction run
planted a_net_that_sees_run net/allow.c '#include "run/run.h"' check_direction net
planted a_policy_that_sees_audit policy/trust.c '#include "audit/audit.h"' check_direction policy
planted a_header_without_folder lib/abatis.c '#include "run.h"' check_direction lib
planted a_way_round_by_dots plan/plan.c '#include "plan/../run/run.h"' check_direction plan
planted a_kernel_header_in_policy policy/git.c '#include <linux/fs.h>' check_kernel_headers
planted a_kernel_header_in_a_portable_file base/program.c '#include <linux/fs.h>' check_kernel_headers
planted a_windows_header_in_base base/error.c '#include <windows.h>' check_windows_headers
planted an_os_header_in_backend backend/native.c '#include <unistd.h>' check_backend_is_pure
planted an_os_header_behind_a_header plan/plan.h '#include <sys/stat.h>' check_backend_is_pure
plant base/text.c ''
mkdir "$scratch/src/util"
check finds_a_folder_without_layer finds src/util check_folders "$scratch/src"
plant stray.c ''
check finds_a_file_beside_the_folders finds stray.c check_folders "$scratch/src"
(cat "$repo/include/abatis.h" && echo '#include <stdio.h>') >"$scratch/abatis.h"
check finds_another_header_in_the_public_one finds stdio.h check_public_header "$scratch/abatis.h"
finish
