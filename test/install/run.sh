#!/bin/bash
# run.sh: the test of what is installed, in a build of its own.
exec "$(dirname "$0")/install.sh" "$@"
