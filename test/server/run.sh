#!/bin/bash
# run.sh: abatis serve and abatis exec-request, over pipes and sockets, as an ordinary user.
#
#   BUILD=build test/server/run.sh [PART-OF-A-NAME...]
#
# transcript.txt: what is asked and what is answered · conformance.py: that, and the schema · serve.py: many at once, patience,
# the cache, the ends · warm.py: what of this machine counts for a warm sandbox · door.py: the socket · confined.py: who is in a sandbox,
# with namespaces and where none can be made · exec.py: exec-request and trust tiers
set -u
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$repo/build}
ABATIS=${ABATIS:-$BUILD/abatis}
readonly ORDINARY_UID=4343
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. "$here/../sums.sh"

T=$(mktemp -d /var/tmp/abatis-server.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
mkdir "$T/bin" "$T/test" "$T/scratch" "$T/home"
cp "$ABATIS" "$T/bin/abatis" && "${CC:-cc}" -O2 -Wall -Wextra -Werror -o "$T/bin/enter" "$here/../tree/enter.c" || exit 1
cp "$here"/*.py "$here"/*.txt "$repo/docs/server.schema.json" "$repo/docs/SERVER.md" "$T/test/"
chmod -R a+rX "$T"
as_user=()
if ((EUID == 0)); then
        chown "$ORDINARY_UID:$ORDINARY_UID" "$T/scratch" "$T/home"
        as_user=(setpriv --reuid="$ORDINARY_UID" --regid="$ORDINARY_UID" --clear-groups)
fi

cd "$T/scratch" || exit 1
clean=(env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$T/home" LANG=C.UTF-8 SERVER_TOP="$T" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"})
for part in conformance serve warm door confined exec; do
        take "$part" "${as_user[@]}" "${clean[@]}" /usr/bin/python3 -B "$T/test/$part.py" "$@"
done
for mode in none docker; do
        take "confined_$mode" "${as_user[@]}" "${clean[@]}" "$T/bin/enter" "$ORDINARY_UID" "$mode" \
                /usr/bin/python3 -B "$T/test/confined.py" "$@" > >(sed "s/^\(ok\|not ok\|skip\) /&${mode}_/")
done
if ((EUID == 0)); then
        # Root may open the socket of anybody, and is nobody's user here.
        take stranger env SERVER_TOP="$T" /usr/bin/python3 -B "$T/test/stranger.py" "$ORDINARY_UID" "$@"
else
        echo "skip another_user_is_refused - that takes two users, and so root"
        skipped=$((skipped + 1))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
