#!/bin/bash
# run.sh: abatis serve and abatis exec-request, over pipes and sockets, as an ordinary user.
#
#   BUILD=build test/server/run.sh [PART-OF-A-NAME...]
#
# transcript.txt: what is asked and what is answered · conformance.py: that, and the schema · serve.py: many at once, patience,
# the cache, the ends · warm.py: what of this machine counts for a warm sandbox · door.py: the socket · confined.py: who is in a sandbox,
# with namespaces and where none can be made · exec.py: exec-request and trust tiers
set -u
# shellcheck source-path=SCRIPTDIR source=../stage.sh
. "$(dirname "$0")/../stage.sh"

"${CC:-cc}" -O2 -Wall -Wextra -Werror -o "$T/bin/enter" "$here/../tree/enter.c" || exit 1
cp "$here"/*.txt "$repo/docs/server.schema.json" "$repo/docs/SERVER.md" "$T/test/"
stage_open
for part in conformance serve warm door confined exec; do
        take_python "$part" "$@"
done
for mode in none docker; do
        take "confined_$mode" "${as_user[@]}" "${clean[@]}" "$T/bin/enter" "$ORDINARY_UID" "$mode" \
                /usr/bin/python3 -B "$T/test/confined.py" "$@" > >(sed "s/^\(ok\|not ok\|skip\) /&${mode}_/")
done
if ((EUID == 0)); then
        # Root may open the socket of anybody, and is nobody's user here.
        take stranger env SERVER_TOP="$T" /usr/bin/python3 -B "$T/test/stranger.py" "$ORDINARY_UID" "$@"
else
        skip another_user_is_refused "that takes two users, and so root"
fi
stage_close
