# lib.sh: counting for the structure tests.
# shellcheck shell=bash
#
# A script sources this file, calls `check NAME COMMAND...` for each fact, and ends with `finish`. What the command
# prints is why it failed. Each script also plants what it looks for in a copy and checks that it is found.

passed=0 failed=0 skipped=0
# shellcheck disable=SC2034 # for the scripts
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/abatis-structure.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

check() { # NAME COMMAND...
        local name=$1 why
        shift
        if why=$("$@" 2>&1); then
                echo "ok $name"
                passed=$((passed + 1))
        else
                echo "not ok $name - $(tr '\n' ';' <<<"${why:-no reason given}")"
                failed=$((failed + 1))
        fi
}

skip() { # NAME WHY
        echo "skip $1 - $2"
        skipped=$((skipped + 1))
}

# For self-tests: the command must fail, and say this.
finds() { # TEXT COMMAND...
        local text=$1 said
        shift
        if said=$("$@" 2>&1); then
                echo "nothing was found"
                return 1
        fi
        grep -qF -- "$text" <<<"$said" || {
                echo "expected '$text', said: $said"
                return 1
        }
}

finish() {
        echo "$passed passed, $failed failed, $skipped skipped"
        [ "$failed" -eq 0 ]
}
