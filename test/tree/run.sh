#!/bin/bash
# run.sh: nobody of a job outlives it, whatever it is and however it ends, and nothing else of it is left.
#
#   test/tree/run.sh [PART-OF-A-NAME...]
#
# ends.py: every kind of tree, every end · moments.py: SIGKILL at random moments · shortage.py: launches for which something
# is short · bombs.py: a bomb in one sandbox, honest work in the next.
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
ABATIS=${ABATIS:-$BUILD/abatis}

TREE_PROGRAMS=$(mktemp -d /var/tmp/abatis-tree-bin.XXXXXX) || exit 1
trap 'rm -rf "$TREE_PROGRAMS"' EXIT
export TREE_PROGRAMS
chmod 755 "$TREE_PROGRAMS"
flags=(-std=gnu11 -O1 -g -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror -pthread)
for program in kinds enter; do
        "${CC:-cc}" "${flags[@]}" -static -o "$TREE_PROGRAMS/$program" "$program.c" || exit 1
done
"${CC:-cc}" "${flags[@]}" -shared -fPIC -o "$TREE_PROGRAMS/find.so" find.c || exit 1
for program in embedder starved; do
        "${CC:-cc}" "${flags[@]}" -I../../include -o "$TREE_PROGRAMS/$program" "$program.c" "$BUILD/libabatis.a" \
                -ljansson -lyaml || exit 1
done
cp "$ABATIS" "$TREE_PROGRAMS/abatis" || exit 1

# What is mounted for a test is nobody else's.
alone=()
if unshare --mount true 2>/dev/null; then
        alone=(unshare --mount --propagation private)
        export TREE_PRIVATE_MOUNTS=1
fi

passed=0 failed=0 skipped=0
for part in ends moments shortage bombs; do
        [ -e "$part.py" ] || continue
        summed=
        while IFS= read -r line; do
                if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
                        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
                        skipped=$((skipped + BASH_REMATCH[3]))
                        summed=1
                else
                        printf '%s\n' "$line"
                fi
        done < <("${alone[@]}" python3 "./$part.py" "$@" 2>&1)
        if [ -z "$summed" ]; then
                echo "not ok ${part}_runs_to_its_end - it stopped early"
                failed=$((failed + 1))
        fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
