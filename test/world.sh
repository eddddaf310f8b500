# world.sh: how a suite in bash runs commands in its world: as ID, where MODE says what there is of namespaces. To be sourced.
# shellcheck shell=bash disable=SC2034,SC2154 # whoever sources it has T, ID and MODE, and reads TEXT
outside() { # COMMAND...: outside any sandbox; what it prints comes into TEXT
        local code
        TEXT=$(cd "$T/world/ws" && HOME=$T/world/home XDG_STATE_HOME='' TMPDIR='' \
                timeout -s KILL 100 "$T/bin/enter" "$ID" "$MODE" /usr/bin/env "$@" 2>&1 </dev/null)
        code=$?
        return "$code"
}
inside() { # FLAG... -- COMMAND...
        outside "$T/bin/abatis" run --no-audit "$@"
}
