# shellcheck shell=bash disable=SC2154,SC2034
# The kernel's surface: namespaces, mounts, calls that no tool needs, other doors, rights, devices and
# switches.

readonly NEWTIME=0x80 NEWNS=0x20000 NEWCGROUP=0x02000000 NEWUTS=0x04000000 NEWIPC=0x08000000 \
        NEWUSER=0x10000000 \
        NEWPID=0x20000000 NEWNET=0x40000000

for call in unshare clone clone3; do
        try "no_user_namespace_by_$call" outside none "namespace_$call" $NEWUSER
done
for kind in NEWTIME NEWNS NEWCGROUP NEWUTS NEWIPC NEWPID NEWNET; do
        try "no_namespace_${kind}_by_unshare" in_namespaces none namespace_unshare "${!kind}"
        [[ $kind == NEWTIME ]] || # its number is part of the exit signal in clone
                try "no_namespace_${kind}_by_clone" in_namespaces none namespace_clone "${!kind}"
        try "no_namespace_${kind}_by_clone3" in_namespaces none namespace_clone3 "${!kind}"
done
for way in at_a_stop by_a_filter; do
        [[ $PASS == bare ]] || try "no_argument_is_forged_$way" outside none "forged_$way" $NEWUSER
done
try no_user_and_mount_namespace_together outside none namespace_unshare $((NEWUSER | NEWNS))

for call in tmpfs bind move move_alone open_tree open_tree_attr fsopen fsconfig fsmount pivot_root chroot; do
        try "no_mount_by_$call" in_namespaces none "mount_$call" "$WS/spare"
done
CONTROL_ARGUMENTS=(/)
[[ $PASS == root ]] && try no_mount_by_fspick in_namespaces none mount_fspick "$WS/spare"
CONTROL_ARGUMENTS=()
try no_mount_by_setattr on_a_read_only_mount none mount_setattr "$WS/spare"
try no_umount on_a_read_only_mount none mount_umount "$WS/spare"
try no_host_name in_namespaces none name_sethostname host
try no_domain_name in_namespaces none name_setdomainname host

for call in io_uring_setup io_uring_enter io_uring_register userfaultfd perf_event_open keyctl add_key \
        request_key \
        fanotify_init quotactl; do
        try "no_$call" outside none "$call"
done
try no_lease_of_a_file outside none lease "$OUT/ro.txt"
case $(uname -m) in
x86_64)
        for call in abi_i386 abi_i386_socketcall abi_x32 abi_modify_ldt; do
                try "no_$call" outside none "$call"
        done
        ;;
aarch64) try no_32_bit_arm_program outside none abi_arm32 "$WS/arm" ;;
esac
if "$OUTSIDE" key "escape-$$" 2>/dev/null; then
        try key_of_the_user_is_not_read outside leak keyctl_read "escape-$$"
fi

# What an ordinary user may not do anyway is tried as root, where the kernel itself would not refuse it.
if [[ $PASS == root ]]; then
        for call in bpf init_module finit_module delete_module kexec_load kexec_file_load reboot swapon \
                swapoff acct syslog \
                settimeofday clock_settime abi_iopl abi_ioperm; do
                [[ $call == abi_* && $(uname -m) != x86_64 ]] && continue
                try "no_$call" outside none "$call"
        done
        try root_has_no_capabilities outside none privilege_has_capabilities
        try root_does_not_regain_capabilities_by_exec outside none privilege_exec "$ATTACK" \
                privilege_has_capabilities
        try root_does_not_regain_capabilities_by_capset outside none privilege_capset
        try root_does_not_become_somebody_else outside none privilege_setuid 4343
        try root_does_not_take_groups outside none privilege_setgroups 4343
fi
try no_new_privs_is_set outside none privilege_no_new_privs
try seccomp_filter_is_there outside none privilege_no_seccomp
if [[ $PASS == user && -u $PROGRAMS/setuid-attack ]]; then
        try set_uid_program_gives_no_rights outside none privilege_exec "$PROGRAMS/setuid-attack" \
                privilege_is_root
        try file_capabilities_give_no_rights outside none privilege_exec "$PROGRAMS/capable-attack" \
                privilege_has_capabilities
fi

# Devices and switches: opened where that works outside, never used.
if [[ $PASS == root ]]; then
        for device in /dev/vda /dev/sda /dev/nvme0n1 /dev/xvda /dev/mmcblk0 /dev/loop0 /dev/zram0; do
                "$ATTACK" open_for "$device" 0 2>/dev/null || continue
                try "block_device_is_not_opened_${device##*/}" outside none open_for "$device" 0
        done
        for device in kmsg mem port fuse userfaultfd loop-control net/tun kvm vsock vcs1 hwrng rtc0 tty1 \
                cpu_dma_latency; do
                "$ATTACK" open_for "/dev/$device" 0 2>/dev/null || continue
                try "device_is_not_opened_${device//\//_}" outside none open_for "/dev/$device" 0
        done
        try kernel_messages_are_not_read outside none read_device /dev/kmsg
        try core_pattern_is_not_written outside none write_back /proc/sys/kernel/core_pattern
        for switch in /proc/sysrq-trigger /proc/sys/vm/drop_caches /proc/sys/kernel/modprobe \
                /proc/sys/kernel/hostname \
                /proc/sys/fs/binfmt_misc/register /sys/kernel/uevent_helper /sys/power/state \
                /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/ksm/run /sys/kernel/profiling; do
                "$ATTACK" open_for "$switch" 1 2>/dev/null || continue
                name=${switch//\//_}
                try "switch_is_not_opened_for_writing${name//-/_}" outside none open_for "$switch" 1
        done
        for switch in /sys/fs/cgroup/release_agent /sys/fs/cgroup/*/release_agent \
                /sys/fs/cgroup/cgroup.procs \
                /sys/fs/cgroup/*/cgroup.procs; do
                "$ATTACK" open_for "$switch" 1 2>/dev/null || continue
                name=${switch#/sys/fs/}
                try "cgroup_file_is_not_opened_for_writing_${name//[\/.]/_}" outside none open_for "$switch" 1
        done
        for file in /proc/kcore /proc/kmsg /proc/kpageflags /proc/kpagecount; do
                "$ATTACK" open_for "$file" 0 2>/dev/null || continue
                try "kernel_memory_is_not_opened${file//\//_}" outside none open_for "$file" 0
        done
        for directory in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/memory; do
                "$ATTACK" mkdir_cgroup "$directory" 2>/dev/null || continue
                try "no_cgroup_is_made${directory//\//_}" outside none mkdir_cgroup "$directory"
        done
fi
