#!/bin/bash
# words.sh: every verb, flag and key is in the manual, the completions and the reference, and nothing else is.
#
#   test/structure/words.sh [BUILD-DIRECTORY]                (default: $BUILD, or build)
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
build=${1:-${BUILD:-$repo/build}}

# What the program knows, from its tables.
list_verbs() { # REPOSITORY
        sed -n '/NULL }/d; s/^ *{ "\([a-z-]*\)", cmd_.*/\1/p' "$1/src/cli/main.c"
}

list_flags() { # REPOSITORY
        sed -n 's/^ *{ "\(--[a-z-]*\)",.*/\1/p' "$1/src/cli/flags.c" "$1/src/cli/cmd_audit.c" "$1/src/cli/cmd_serve.c"
        printf '%s\n' --revoke --force --version # of `trust`, of `skill`, and of none
}

list_keys() { # REPOSITORY: without their sections
        sed -n 's/^ *\[KEY_[A-Z_]*\] = { "\([a-z_.]*\)".*/\1/p' "$1/src/policy/keys.c" | sed 's/.*\.//' | sort -u
}

# What a file names, each in the way it writes a flag.
flags_in() { # FILE
        # shellcheck disable=SC2016 # the variable is fish's
        case $1 in
        *.1) sed -n 's/\\-/-/g; s/Fl Fl \([a-z-]\)/--\1/gp' "$1" ;;
        *.fish) sed -n '/^complete\|^$flags/s/.* -l \([a-z-]*\) .*/--\1/p' "$1" ;;
        *) grep -v '^ *#' "$1" ;;
        esac | grep -oE -- '(^|[^a-z-])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u
}

has_words() { # FILE WORD...
        local file=$1 word bad=0
        shift
        for word in "$@"; do
                grep -qE -- "(^|[^a-z_-])$word([^a-z_-]|\$)" "$file" || {
                        echo "${file##*/} does not name $word"
                        bad=1
                }
        done
        return $bad
}

check_verbs() { # REPOSITORY
        local file bad=0
        local -a verbs
        mapfile -t verbs < <(list_verbs "$1")
        [ ${#verbs[@]} -gt 5 ] || {
                echo "no verbs found in main.c"
                return 1
        }
        for file in "$1"/man/abatis.1 "$1"/completions/*; do
                has_words "$file" "${verbs[@]}" || bad=1
        done
        return $bad
}

check_flags() { # REPOSITORY
        local file difference bad=0
        [ "$(list_flags "$1" | wc -l)" -gt 25 ] || {
                echo "no flags found in flags.c"
                return 1
        }
        for file in "$1"/man/abatis.1 "$1"/completions/*; do
                difference=$(comm -3 <(list_flags "$1" | sort -u) <(flags_in "$file"))
                [ -n "$difference" ] || continue
                echo "${file##*/} and flags.c differ in:" "${difference//[[:space:]]/ }"
                bad=1
        done
        return $bad
}

check_keys() { # REPOSITORY
        local bad=0
        local -a keys
        mapfile -t keys < <(list_keys "$1")
        [ ${#keys[@]} -gt 20 ] || {
                echo "no keys found in keys.c"
                return 1
        }
        has_words "$1/man/abatis.1" "${keys[@]}" || bad=1
        has_words "$1/docs/POLICY.md" "${keys[@]}" || bad=1
        return $bad
}

# Whoever begins with it must not begin with an error.
check_example() { # REPOSITORY
        local -a keys
        sed -n '/^```yaml$/,/^```$/p' "$1/docs/POLICY.md" | grep -v '^```' >"$scratch/example.yaml"
        mapfile -t keys < <(list_keys "$1")
        has_words "$scratch/example.yaml" "${keys[@]}" &&
                "$build/abatis" policy convert "$scratch/example.yaml" >/dev/null
}

check every_verb_is_in_the_manual_and_the_completions check_verbs "$repo"
check the_manual_and_the_completions_have_the_flags_of_the_program check_flags "$repo"
check every_key_is_in_the_manual_and_the_reference check_keys "$repo"
check the_example_of_the_reference_is_a_policy_with_every_key check_example "$repo"

# It must see what there is to see.
cp -r "$repo/src" "$repo/man" "$repo/completions" "$repo/docs" "$scratch"
sed -i 's/--exec/--exce/g' "$scratch/completions/abatis.bash"
sed -i '/Fl Fl cpu/d' "$scratch/man/abatis.1"
sed -i 's/doctor/docter/g' "$scratch/completions/_abatis"
sed -i 's/open_files/openfiles/g; s/mode: list /mode: deny /' "$scratch/docs/POLICY.md"
check a_planted_verb_is_found finds '_abatis does not name doctor' check_verbs "$scratch"
check a_planted_flag_is_found finds 'abatis.bash and flags.c differ in:' check_flags "$scratch"
check a_planted_lack_is_found finds 'abatis.1 and flags.c differ in: --cpu' check_flags "$scratch"
check a_planted_key_is_found finds 'POLICY.md does not name open_files' check_keys "$scratch"
sed -i 's/openfiles/open_files/g' "$scratch/docs/POLICY.md"
check a_planted_mistake_is_found finds 'network.connect needs network.mode list' check_example "$scratch"
finish
