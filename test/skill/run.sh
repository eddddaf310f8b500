#!/bin/bash
# run.sh: WebAssembly modules in a sandbox, on every engine that can be had here, and packages of them, as an ordinary user.
#
#   BUILD=build test/skill/run.sh [PART-OF-A-NAME...]
#
# modules/ are the test skills, build.sh builds them · engines.py: what each engine runs and what ends it · escapes.py: ways out of the given
# directories, on each engine by itself and in the sandbox · doors.py: exec-request, serve, and what is refused · packages.sh: what is
# installed, and what is refused · native.sh: modules as native programs, without a sandbox
set -u
# shellcheck source-path=SCRIPTDIR source=../stage.sh
. "$(dirname "$0")/../stage.sh"

"$here/build.sh" "$T/modules" || exit 1
cp "$here"/{packages.sh,*.wat} "$repo/test/sums.sh" "$T/test/" || exit 1
[ ! -e "$BUILD/abatis-verify" ] || cp "$BUILD/abatis-verify" "$T/bin/" || exit 1
if tree=$("$repo/script/fetch.sh" packages "$(dpkg --print-architecture)/forky" wazero 2>"$T/why"); then
        cp "$tree/usr/bin/wazero" "$T/bin/" || exit 1
else
        skip wazero_runs_the_same "$(tail -n 1 "$T/why")"
fi
clean+=(PATH="$T/bin:/usr/local/bin:/usr/bin:/bin" T="$T")
chmod -R go-w "$T"
stage_open
for part in engines escapes doors; do
        take_python "$part" "$@"
done
take packages "${as_user[@]}" "${clean[@]}" "$T/test/packages.sh" ${1+"*$1*"}
take native "$here/native.sh" ${1+"*$1*"}
stage_close
