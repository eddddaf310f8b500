#!/bin/bash
# run.sh: boots a kernel in qemu and tests there what this machine may not have: controllers of cgroup v2, a sysctl that
# forbids user namespaces, an older Landlock.
#
#   KERNEL=/boot/vmlinuz-6.1.0-arm64 BUILD=build test/kernel/run.sh
#
# Without KERNEL it takes the newest that /boot has. Not part of `make test`: it takes a minute without hardware
# virtualisation, and needs qemu, cpio, a static busybox and a static abatis.
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-../../build}
KERNEL=${KERNEL:-$(ls -t /boot/vmlinuz-* 2>/dev/null | head -n 1)}
machine=$(uname -m)
case $machine in
aarch64) options=(-machine virt -cpu max -append "console=ttyAMA0 quiet panic=-1") ;;
*) options=(-append "console=ttyS0 quiet panic=-1") ;;
esac

skip() {
        echo "ok limits_with_controllers # skip $1"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
}

for program in "qemu-system-$machine" cpio busybox; do
        command -v "$program" >/dev/null || skip "$program is not installed"
done
[ -r "$KERNEL" ] || skip "no kernel to boot; KERNEL names one"
is_static() { ! ldd "$1" >/dev/null 2>&1; }
is_static "$(command -v busybox)" || skip "busybox is not static"
is_static "$BUILD/abatis" || skip "abatis is not static"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/tree/{bin,proc,sys,dev,tmp,ws,etc}
cp "$BUILD/abatis" "$(command -v busybox)" "$root/tree/bin/"
for program in hog ways; do
        cc -O1 -static -o "$root/tree/bin/$program" "$program.c" || exit 1
done
for name in sh mount mkdir chmod chown sed head grep ls wc pidof setsid sleep true sync poweroff; do
        ln -s busybox "$root/tree/bin/$name"
done
cp guest.sh "$root/tree/init"
cp guest_bare.sh "$root/tree/"
chmod 755 "$root/tree/init"
(cd "$root/tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$root/initrd" || exit 1

timeout -s KILL "${LIMIT:-300}" "qemu-system-$machine" "${options[@]}" -m 2048 -smp 2 -nic none -nographic -no-reboot \
        -kernel "$KERNEL" -initrd "$root/initrd" </dev/null >"$root/out" 2>&1
tr -d '\r' <"$root/out" | grep -aE '^(not )?ok ' >"$root/lines"
cat "$root/lines"
passed=$(grep -c '^ok ' "$root/lines") failed=$(grep -c '^not ok ' "$root/lines")
if ! grep -aq '^guest is done' "$root/out"; then
        echo "not ok the_machine_runs_to_its_end - $(tail -n 3 "$root/out" | tr -d '\r' | tr '\n' ' ')"
        failed=$((failed + 1))
fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
