#!/bin/bash
# run.sh: the JSON Schema of the policy file is the committed one, and takes what the parser takes.
#
#   BUILD=build test/schema/run.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
readonly here
BUILD=${BUILD:-$here/../../build}

if ! /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
        echo "skip schema_and_parser_agree - python3-jsonschema is not installed"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
fi
exec /usr/bin/python3 "$here/agree.py" "$BUILD" "$here/../../profiles/policy.schema.json"
