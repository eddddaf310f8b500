# stage.sh: where suites in Python and Node run: a scratch directory T with the program in it, as an ordinary user. To be sourced, by a
# suite's run.sh, which puts there what else it needs, opens it, and closes it in the end.
# shellcheck shell=bash disable=SC2034 # whoever sources it reads these
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$repo/build}
ABATIS=${ABATIS:-$BUILD/abatis}
readonly ORDINARY_UID=4343
# shellcheck source-path=SCRIPTDIR source=sums.sh
. "$repo/test/sums.sh"

T=$(mktemp -d "/var/tmp/abatis-${here##*/}.XXXXXX") || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
mkdir "$T/bin" "$T/test" "$T/scratch" "$T/home"
cp "$ABATIS" "$T/bin/abatis" && cp "$here"/*.py "$T/test/" && cp "$repo/test/server/lib.py" "$T/test/" || exit 1
as_user=()
((EUID)) || as_user=(setpriv --reuid="$ORDINARY_UID" --regid="$ORDINARY_UID" --clear-groups)
clean=(env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$T/home" LANG=C.UTF-8 SERVER_TOP="$T" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"})

stage_open() { # DIRECTORY...: all is there now, to be read; these are the user's too
        chmod -R a+rX "$T"
        ((EUID)) || chown -R "$ORDINARY_UID:$ORDINARY_UID" "$T/scratch" "$T/home" "$@"
        cd "$T/scratch" || exit 1
}
take_python() { # PART ARGUMENT...: T/test/PART.py
        local part=$1
        shift
        take "$part" "${as_user[@]}" "${clean[@]}" /usr/bin/python3 -B "$T/test/$part.py" "$@"
}
skip() { # NAME REASON
        echo "skip $1 - $2"
        skipped=$((skipped + 1))
}
stage_close() {
        echo "$passed passed, $failed failed, $skipped skipped"
        [ "$failed" -eq 0 ]
}
