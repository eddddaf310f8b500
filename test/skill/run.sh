#!/bin/bash
# run.sh: skills: packages of them, as an ordinary user with a home of its own.
#
#   BUILD=build test/skill/run.sh [PATTERN]        (default: all tests)
#
# packages.sh: what is installed, and what is refused
set -u
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$repo/build}
ABATIS=${ABATIS:-$BUILD/abatis}
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. "$repo/test/sums.sh"

T=$(mktemp -d /var/tmp/abatis-skill.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
mkdir "$T/bin" "$T/test" "$T/scratch"
cp "$ABATIS" "$T/bin/abatis" && cp "$here"/*.sh "$here"/*.wat "$repo/test/sums.sh" "$T/test/" || exit 1
[ ! -e "$BUILD/abatis-verify" ] || cp "$BUILD/abatis-verify" "$T/bin/" || exit 1
chmod -R a+rX,go-w "$T"
as_user=()
if ((!EUID)); then
        chown 4343:4343 "$T/scratch"
        as_user=(setpriv --reuid=4343 --regid=4343 --clear-groups)
fi
clean=(env -i PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 T="$T" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"})
take packages "${as_user[@]}" "${clean[@]}" "$T/test/packages.sh" "$@"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
