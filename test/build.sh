#!/bin/sh
# Builds the tests' own programs in $BUILD, or only the targets named: test/build.sh [TARGET...]
#
# Suites run beside each other, and Meson wants a build directory for itself.
set -eu
exec 9>"$BUILD/.built-for-tests"
flock 9
# Whoever builds for use does not need cmocka: the tests are an option, switched on here.
meson configure "$BUILD" -Dtests=true
nice ninja -C "$BUILD" "$@"
