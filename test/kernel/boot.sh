# boot.sh: makes the disk of a virtual machine, and boots a kernel with it. To be sourced.
# shellcheck shell=bash disable=SC2154 # T is the caller's scratch directory

cpu_of() { # ARCH
        case $1 in amd64) echo x86_64 ;; arm64) echo aarch64 ;; esac
}
own_arch() {
        case $(uname -m) in x86_64) echo amd64 ;; aarch64) echo arm64 ;; esac
}
compiler_of() { # ARCH
        if [ "$1" = "$(own_arch)" ]; then echo "${CC:-cc}"; else echo "$(cpu_of "$1")-linux-gnu-gcc"; fi
}

# Everything that a guest needs, in one archive.
make_disk() { # ARCH ABATIS
        local tree=$T/tree-$1 packages cc flags=(-std=gnu11 -O1 -static -pthread) name
        cc=$(compiler_of "$1")
        packages=$(../../script/fetch.sh packages "$1" busybox-static bash-static) || return 1
        mkdir -p "$tree"/{usr/bin,proc,sys,dev,tmp,ws,etc,home,var,run,escape}
        ln -s usr/bin "$tree/bin"
        cp "$2" "$packages/bin/busybox" "$tree/bin/"
        cp "$packages/bin/bash-static" "$tree/bin/bash"
        printf 'root:x:0:0::/root:/bin/sh\nuser:x:4343:4343::/home/user:/bin/sh\n' >"$tree/etc/passwd"
        for name in hog ways; do
                "$cc" "${flags[@]}" -o "$tree/bin/$name" "$name.c" || return 1
        done
        "$cc" "${flags[@]}" -o "$tree/bin/enter" ../tree/enter.c &&
                "$cc" "${flags[@]}" -o "$tree/escape/attack" ../escape/attack*.c &&
                "$cc" "${flags[@]}" -o "$tree/escape/loosen" ../escape/loosen.c &&
                "$cc" "${flags[@]}" -o "$tree/escape/outside" ../escape/outside*.c || return 1
        # The commands of busybox cannot be listed by another architecture's machine: these are the ones that are used.
        for name in sh mount mkdir chmod chown cat cp mv rm ln sed head tail tr cut grep ls wc env find id stat mknod mktemp ifconfig \
                pidof ps kill setsid sleep timeout touch true false sync uname basename dirname realpath date sort switch_root poweroff; do
                ln -s busybox "$tree/bin/$name"
        done
        cp ../escape/run.sh ../escape/cases_*.sh ../escape/known_limits*.txt "$tree/escape/"
        cp part_*.sh "$tree/"
        cp guest.sh "$tree/init"
        chmod 755 "$tree/init"
        (cd "$tree" && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1) >"$T/disk-$1"
}

# What the machine prints goes to a file. CPUS is how many processors it has, LIMIT how many seconds.
boot() { # ARCH KERNEL OUTPUT PARAMETER...
        local arch=$1 kernel=$2 output=$3 options
        shift 3
        case $arch in
        # Pointer authentication as the architecture has it takes half of the time.
        arm64) options=(-machine virt -cpu "max,pauth-impdef=on" -append "console=ttyAMA0 quiet panic=-1 $*") ;;
        amd64) options=(-machine q35 -cpu max -append "console=ttyS0 quiet panic=-1 $*") ;;
        esac
        timeout -s KILL "$LIMIT" "qemu-system-$(cpu_of "$arch")" "${options[@]}" -m 1024 -smp "$CPUS" -nic none \
                -nographic -no-reboot -kernel "$kernel" -initrd "$T/disk-$arch" </dev/null 2>&1 | tr -d '\r' >"$output"
}
