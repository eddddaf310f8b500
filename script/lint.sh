#!/bin/bash
# Checks what a compiler run does not: formatting, shell scripts, static analysis, and no warning from gcc or clang.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/abatis-lint.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

mapfile -t c_files < <(git ls-files '*.c' '*.h')
mapfile -t sources < <(git ls-files 'src/*.c')
mapfile -t scripts < <(git ls-files '*.sh' '.ci/run' 'completions/*.bash')

echo "== clang-format"
clang-format --dry-run --Werror "${c_files[@]}"
echo "== shellcheck"
shellcheck -x -S warning "${scripts[@]}"
for compiler in gcc clang; do
        echo "== $compiler -Werror"
        CC=$compiler meson setup "$scratch/$compiler" -Dwerror=true >/dev/null
        ninja -C "$scratch/$compiler" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
done
echo "== clang-tidy"
# What is of another processor, or of musl, is not compiled here.
compiled=()
for source in "${sources[@]}"; do
        ! grep -q "/$source\"" "$scratch/clang/compile_commands.json" || compiled+=("$source")
done
printf '%s\0' "${compiled[@]}" | xargs -0 -n 4 -P "$(nproc)" \
        clang-tidy -quiet -p "$scratch/clang" --warnings-as-errors='*' 2>"$scratch/log" || { cat "$scratch/log"; exit 1; }
echo "== cppcheck"
# It does not know the cleanup attribute behind OWN_FREE; leaks are LeakSanitizer's and valgrind's business.
cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr --suppress=missingIncludeSystem \
        --suppress=memleak --suppress=nullPointerOutOfMemory --suppress=ctunullpointerOutOfMemory \
        --std=c11 -Iinclude -Isrc "${sources[@]}"
echo "lint: clean"
