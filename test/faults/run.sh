#!/bin/bash
# run.sh: every system call of a launch made to fail, one at a time: what runs is held, what cannot run says why.
#
#   test/faults/run.sh [PART-OF-A-NAME...]
set -u
cd "$(dirname "$0")" || exit 1
exec python3 ./faults.py "${ABATIS:-${BUILD:-$PWD/../../build}/abatis}" "$@"
