#!/bin/bash
# run.sh: boots Debian's kernels in qemu, with abatis and its tests: do plan, doctor and what happens agree on each of them?
#
#   BUILD=/path/to/build test/kernel/run.sh few     four kernels, one of them of the other architecture (make test-kernel)
#   BUILD=/path/to/build test/kernel/run.sh all     eight of both architectures (make test-kernel-all)
#   ... test/kernel/run.sh few 'arm64 7.2*'         only machines with such a name
#
# Kernels come from Debian's mirror and stay in a cache (script/fetch.sh); one that cannot be had is a skip. Needs no KVM and no
# root. What was found out about each clause on each machine is written to $BUILD/kernel-matrix.tsv (part_agree.sh) and $BUILD/verified/vm.tsv
# (part_doctor.sh).
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
PATTERN=${2:-*}
AT_ONCE=${AT_ONCE:-2}
# shellcheck source-path=SCRIPTDIR source=boot.sh
. ./boot.sh
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh

own=$(own_arch)
case $own in arm64) other=amd64 ;; *) other=arm64 ;; esac
# Which version of Landlock Debian's kernels have.
declare -A landlock=([5.10]=0 [6.1]=2 [6.12]=6 [6.18]=7 [7.0]=8 [7.1]=9 [7.2]=10 [7.3]=11)
abi_of() { # SERIES VARIANT
        if [ "$2" = no-landlock ]; then echo 0; else echo "${landlock[$1]}"; fi
}
readonly series=(5.10 6.1 6.12 6.18 7.0 7.1 7.2 7.3)
readonly no_landlock="lsm=lockdown,yama,loadpin,safesetid,integrity,apparmor,bpf"
readonly few="abatis.few=dev,strict,net-list,deny-inside,deny-absent,limits"
readonly variants="abatis.variants=plain,no-userns-clone,no-userns"

# A machine is a line: its architecture and kernel, a name, and what guest.sh is to do.
list_few() {
        echo "$own 6.1 plain abatis.parts=agree,doctor $variants abatis.doctor=plain:user,no-userns:user abatis.roles=user,root $few"
        echo "$own 7.2 plain abatis.parts=agree,doctor $variants abatis.doctor=plain:user,no-userns:user abatis.roles=user,root $few"
        echo "$other 6.12 plain abatis.parts=agree,doctor,escape $variants abatis.doctor=plain:user abatis.roles=user $few abatis.cases=4_kernel,9_calls abatis.passes=user"
        echo "$own 5.10 plain abatis.parts=agree abatis.variants=plain abatis.roles=user"
        echo "$own 7.2 no-landlock abatis.parts=agree abatis.variants=no-landlock abatis.roles=user $few $no_landlock"
        list_x32
}
# Another way to call the same kernel; those for clouds do not have it, and the others by this word only.
list_x32() {
        echo "amd64 6.1 x32 abatis.parts=escape abatis.cases=4_kernel abatis.passes=user syscall.x32=y"
}
list_all() {
        local arch kernel parts
        for arch in "$own" "$other"; do
                for kernel in "${series[@]}"; do
                        parts=agree,doctor,limits,bare,escape
                        [ "${landlock[$kernel]}" != 0 ] || parts=agree
                        echo "$arch $kernel plain abatis.parts=$parts $variants abatis.roles=user,root" \
                                "abatis.doctor=plain:user,plain:root,no-userns:user" \
                                "abatis.cases=1_read,2_write,3_process,4_kernel,5_channel abatis.passes=user,bare"
                        [ "${landlock[$kernel]}" = 0 ] ||
                                echo "$arch $kernel no-landlock abatis.parts=agree abatis.variants=no-landlock" \
                                        "abatis.roles=user,root $no_landlock"
                done
        done
        list_x32
}

# The disk of an architecture, once. For the other one abatis is built first.
prepare() { # ARCH
        local abatis=$BUILD/abatis
        [ ! -e "$T/disk-$1" ] || return 0
        if [ "$1" != "$own" ]; then
                abatis=$BUILD-$1/abatis
                ../../script/cross.sh "$1" "$BUILD-$1" >"$T/cross.log" 2>&1 || {
                        tail -n 20 "$T/cross.log"
                        return 1
                }
        fi
        if ldd "$abatis" >/dev/null 2>&1; then
                echo "abatis is not static"
                return 1
        fi
        make_disk "$1" "$abatis"
}

# What one machine printed: tests get its name, and clauses go into the table.
count_machine() { # NAME LOG
        local line release before="$passed $failed $skipped" arch kernel variant abi
        read -r arch kernel variant <<<"$1"
        abi=$(abi_of "$kernel" "$variant")
        release=$(sed -n 's/^release //p' "$2")
        while IFS= read -r line; do
                case $line in
                "ok "*) passed=$((passed + 1)) ;;
                "not ok "*) not_ok "${1// /_}_${line#not ok }" "" ;;
                "skip "*)
                        skipped=$((skipped + 1))
                        echo "skip ${1// /_}_${line#skip }"
                        ;;
                doctor$'\t'*) echo "$arch $kernel${line#doctor}" >>"$T/doctor" ;;
                tsv$'\t'*) printf '%s\t' "$arch" "$kernel" "$release" "$abi" && echo "${line#tsv$'\t'}" ;;
                esac
        done <"$2" >"$T/said"
        grep $'\t' "$T/said" >>"$T/table"
        grep -v $'\t' "$T/said"
        grep -q '^guest is done' "$2" || not_ok "${1// /_}_runs_to_its_end" "$(tail -n 3 "$2" | tr '\n' ' ')"
        # shellcheck disable=SC2086 # numbers
        set -- "$1" $before
        echo "# $1: $((passed - $2)) passed, $((failed - $3)) failed, $((skipped - $4)) skipped"
}

# Two machines of one processor are done before two of two, and all is for what needs two. Seconds: of all, one machine takes 5 to 25 minutes.
case ${1:-few} in
few) CPUS=1 LIMIT=${LIMIT:-900} ;;
*) CPUS=2 LIMIT=${LIMIT:-3600} ;;
esac
declare -A names=()
running=0
wait_for_one() {
        local ended
        wait -n -p ended
        count_machine "${names[$ended]}" "$T/log-${names[$ended]// /-}"
        running=$((running - 1))
}

T=$(mktemp -d /var/tmp/abatis-kernel.XXXXXX) || exit 1
trap 'rm -rf "$T"' EXIT
: >"$T/table"
: >"$T/doctor"
while read -r arch kernel variant parameters; do
        name="$arch $kernel $variant" abi=$(abi_of "$kernel" "$variant")
        # shellcheck disable=SC2053 # a pattern on purpose
        [[ $name == $PATTERN ]] || continue
        flavour=()
        [ "$variant" != x32 ] || flavour=(full)
        if ! image=$(../../script/fetch.sh kernel "$arch" "$kernel" "${flavour[@]}" 2>"$T/why"); then
                echo "skip ${name// /_} - $(tail -n 1 "$T/why")"
                skipped=$((skipped + 1))
                continue
        fi
        if ! why=$(prepare "$arch" 2>&1); then
                not_ok "${name// /_}_can_be_prepared" "$(tail -n 5 <<<"$why" | tr '\n' ' ')"
                continue
        fi
        [ "$running" -lt "$AT_ONCE" ] || wait_for_one
        boot "$arch" "$image" "$T/log-${name// /-}" "$parameters" "abatis.abi=$abi" &
        names[$!]=$name
        running=$((running + 1))
done < <("list_${1:-few}")
while [ "$running" -gt 0 ]; do
        wait_for_one
done

{
        printf 'architecture\tkernel\trelease\tlandlock\tvariant\trole\tpolicy\tclause\tverdict\tby\n'
        cat "$T/table"
} >"$BUILD/kernel-matrix.tsv"
# For the table in the README: see script/verified.py.
if [ -s "$T/doctor" ] && ((failed == 0)); then
        mkdir -p "$BUILD/verified"
        {
                echo "# $(cut -f1 "$T/doctor" | sort -uV | sed 's/\(.*\) \(.*\)/Linux \2 (\1)/' | paste -sd, | sed 's/,/, /g')"
                while IFS=$'\t' read -r _ variant role backend clause verdict _; do
                        case "$backend $variant $role" in
                        "native no-userns"*" user") backend="native, no namespaces" ;;
                        "native "*" root") backend="native, as root" ;;
                        esac
                        [ "$backend" = none ] || printf '%s\t%s\t%s\tVM\n' "$clause" "$backend" "$verdict"
                done <"$T/doctor" | sort -u
        } >"$BUILD/verified/vm.tsv"
fi
[ -z "${KEEP:-}" ] || cp "$T"/log-* "$KEEP"
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
