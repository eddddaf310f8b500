#!/bin/bash
# run.sh: compares the plans of fixed policies on fixed hosts (hosts/) with the files in plans/.
#
#   BUILD=build test/golden/run.sh
#   UPDATE_GOLDEN=1 BUILD=build test/golden/run.sh     writes them anew
exec "$(dirname "$0")/../unit/run.sh" golden
