#!/bin/bash
# guest.sh: init of the virtual machine. The kernel's command line says what is to be done:
#
#   abatis.parts=agree,doctor,limits,...      files part_*.sh, in this order
#   abatis.variants=plain,no-userns,...       what agree does for each: see set_variant
#   abatis.cases=4_kernel,...                 the files with cases that escape takes
#   abatis.passes=user,bare                   and its passes
#   abatis.abi=2                              the version of Landlock that the kernel has
#   abatis.roles=user,root                    as whom
#   abatis.doctor=plain:user,...              where and as whom doctor --test is run: without it everywhere
#   abatis.few=dev,...                        the policies for all but the first of these: without it all policies
#
# Lines "ok", "not ok" and "skip" are tests; lines that begin with "tsv" and "doctor" are what was found out: see part_agree.sh and part_doctor.sh.
export PATH=/bin HOME=/home/user
# A sandbox may need a new root, and the kernel does not let go of an initramfs.
if [ ! -e /moved ]; then
        mkdir /disk
        mount -t tmpfs -o mode=755 disk /disk
        for name in /*; do
                [ "$name" = /disk ] || cp -a "$name" /disk/
        done
        touch /disk/moved
        exec switch_root /disk /init
fi
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts /tmp /ws /var/tmp /run
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ln -s /proc/self/fd /dev/fd
ifconfig lo 127.0.0.1 up
# Where files can have attributes and a mount of its own, as on a disk.
mount -t tmpfs -o mode=1777 ws /ws
chmod 1777 /tmp /var/tmp

# Debian forbids these to users, and what is forbidden outside proves nothing.
echo 1 >/proc/sys/kernel/perf_event_paranoid
[ ! -e /proc/sys/dev/tty/legacy_tiocsti ] || echo 1 >/proc/sys/dev/tty/legacy_tiocsti
echo # the firmware leaves a line without an end

of_command_line() { # NAME
        sed -n "s/.*abatis\.$1=\([^ ]*\).*/\1/p" /proc/cmdline | tr , ' '
}
# shellcheck disable=SC2034 # the parts use them
{
        VARIANTS=$(of_command_line variants)
        ROLES=$(of_command_line roles)
        ABI=$(of_command_line abi)
        FEW=$(of_command_line few)
        DOCTOR=$(of_command_line doctor)
        CASES=$(of_command_line cases)
        PASSES=$(of_command_line passes)
}
for part in $(of_command_line parts); do
        cd /ws || exit 1
        # shellcheck disable=SC1090
        . "/part_$part.sh"
done
echo "release $(uname -r)"
echo "guest is done"
poweroff -f
