# mappings.sh: a list of commands, where no mount says which files are code. For run.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # run.sh counts, and knows who and where

listed() { # COMMAND...: inside, and on the list
        bare "$T/bin/abatis" run --no-audit --command "$1" -- "$@"
}

# Each kind of race is one where nothing is asked: there the other file is mapped.
test_mapping_races() {
        local kind name library=$1 code try rounds=$ROUNDS
        for kind in dup opening threads waking; do
                name=file_is_not_swapped_while_it_is_mapped_by_$kind$AS
                wants "$name" || continue
                fresh
                echo other >"$T/world/ws/other"
                for ((try = 0; try < 10; try++)); do
                        inside "$T/bin/mappings" race "$kind" "$library" "$T/world/ws/other" 20000
                        [[ $TEXT != *" "*" "[1-9]* ]] || break
                done
                if [[ $TEXT != *" "*" "[1-9]* ]]; then
                        not_ok "$name" "the control mapped none of the other: $TEXT"
                        continue
                fi
                listed "$T/bin/mappings" race "$kind" "$library" "$T/world/ws/other" "$rounds"
                code=$?
                rounds=$SLOW_ROUNDS
                [[ $code == 0 && $TEXT == *" 0" ]] && ok "$name" || not_ok "$name" "exit $code: $TEXT"
        done
}

# A library that somebody outside takes away is none any more, and what lies in its place is another.
test_lost_library() { # LIBRARY
        local name=library_that_is_gone_is_not_mapped$AS library=$T/world/prefix/lib/library.so line code
        wants "$name" || return
        fresh
        mkdir -p "$T"/world/prefix/{bin,lib}
        cp /usr/bin/python3 "$T/world/prefix/bin/python3"
        cp "$1" "$library"
        ((EUID)) || chown -R "$ID:$ID" "$T/world"
        (
                until [[ -e $T/world/ws/ready ]]; do sleep 0.01; done
                rm "$library"
                cp "$1" "$library"
                : >"$T/world/ws/go"
        ) &
        listed "$T/world/prefix/bin/python3" -c '
import mmap, os, sys, time
def maps(fd):
    try:
        mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
        return True
    except PermissionError:
        return False
old = os.open(sys.argv[1], os.O_RDONLY)
before = maps(old)
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
new = os.open(sys.argv[1], os.O_RDONLY)
try:
    os.rename("file", sys.argv[1])
    print("renamed")
except OSError:
    pass
print(before, maps(old), maps(new))' "$library"
        code=$?
        wait "$!"
        [[ $code == 0 && $TEXT == "True False True" ]] && ok "$name" || not_ok "$name" "exit $code: $TEXT"
}

test_mapping_works() { # NAME ARGUMENT...
        local name=$1$AS code
        wants "$name" || return 0
        fresh
        listed "$T/bin/mappings" "${@:2}"
        code=$?
        [[ $code == 0 ]] && ok "$name" || not_ok "$name" "exit $code: $TEXT"
}

test_mappings() {
        local line count=0 library
        library=$(readlink -f "$(ldconfig -p | sed -n 's/.*libc\.so\.6.* => //p' | head -n 1)")
        if wants "mappings$AS"; then
                fresh
                listed "$T/bin/mappings" tricks "$library" "$T/world/ws/file"
                while read -r line; do
                        case $line in
                        ok\ *) ok "${line#ok }$AS" && count=$((count + 1)) ;;
                        *) not_ok "mappings$AS" "$line" ;;
                        esac
                done <<<"$TEXT"
                [[ $count == 16 ]] || not_ok "mappings_are_complete$AS" "$count: ${TEXT:0:200}"
        fi
        test_mapping_works libraries_are_mapped_beside_threads_of_every_kind beside "$library" 100
        test_mapping_works program_is_started_while_a_thread_maps chain "$library" 300
        test_lost_library "$library"
        [[ $AS == *container* ]] || test_mapping_races "$library"
}
