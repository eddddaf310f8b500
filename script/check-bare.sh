#!/bin/sh
# check-bare.sh: proves on a bare system, made for the occasion, that `make demo` and `make test` do all their set-up.
#
#   script/check-bare.sh [--suite NAME] [--mirror URL] [--user] [--target NAME]...
#                        [--worktree] [--keep] [REPOSITORY]
#
#   --suite NAME   the release to install (default: bookworm)
#   --mirror URL   where its packages come from (default: where this machine's own packages come from)
#   --user         type the commands as an ordinary user who may use sudo, not as root
#   --target NAME  a make target, repeatable (default: demo, then test)
#   --worktree     copy the files as they lie there, instead of cloning what is committed
#   --keep         leave the tree behind for a look
#   REPOSITORY     what to clone (default: the repository that this file lies in)
#
# Needs root, debootstrap, and about 2 GB below /var/tmp (or $TMPDIR). Takes several minutes.
set -eu

say() {
        printf 'check-bare: %s\n' "$*"
}

die() {
        printf 'check-bare: %s\n' "$*" >&2
        exit 2
}

suite=bookworm mirror='' user=root worktree=no keep=no repository='' targets=''
while [ $# -gt 0 ]; do
        case $1 in
        --suite | --mirror | --target)
                [ $# -ge 2 ] || die "$1 needs a value"
                case $1 in
                --suite) suite=$2 ;;
                --mirror) mirror=$2 ;;
                --target) targets="$targets $2" ;;
                esac
                shift
                ;;
        --user) user=visitor ;;
        --worktree) worktree=yes ;;
        --keep) keep=yes ;;
        -h | --help)
                sed -n '2,/^set/{/^#/{s/^# \{0,1\}//;p;};}' "$0"
                exit 0
                ;;
        -*) die "unknown flag '$1'; see script/check-bare.sh --help" ;;
        *) repository=$1 ;;
        esac
        shift
done
: "${targets:=demo test}"
: "${repository:=$(cd "$(dirname "$0")/.." && pwd)}"

[ "$(id -u)" -eq 0 ] || die "must be run as root: it makes a system tree and mounts inside it"
for program in debootstrap unshare pivot_root git; do
        command -v "$program" >/dev/null 2>&1 || die "'$program' is missing"
done

# The first archive that this machine itself installs from, security archives aside: one that is known to work here.
find_mirror() {
        # shellcheck disable=SC2016 # the names are apt-get's
        apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
                while read -r uri release component; do
                        case $component:$release in
                        main:*-security) ;;
                        main:*)
                                printf '%s\n' "${uri%/}"
                                break
                                ;;
                        esac
                done
}
[ -n "$mirror" ] || mirror=$(find_mirror)
[ -n "$mirror" ] || die "no package archive found in this machine's apt sources; give one with --mirror"

tree=$(mktemp -d "${TMPDIR:-/var/tmp}/abatis-bare.XXXXXX")
clean_up() {
        if [ "$keep" = yes ]; then
                say "left behind: $tree"
        else
                # All mounts were made in a mount namespace that is gone; should one be left, it is not followed.
                rm -rf --one-file-system "$tree"
        fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# mktemp makes it private; the ordinary user inside must be able to pass.
chmod 755 "$tree"

say "1. a minimal $suite in $tree"
include='make'
[ "$user" = root ] || include='make,sudo'
if ! debootstrap --variant=minbase --include="$include" "$suite" "$tree" "$mirror" >"$tree.log" 2>&1; then
        tail -n 20 "$tree.log" >&2
        rm -f "$tree.log"
        die "debootstrap failed"
fi
rm -f "$tree.log"

# The new system reaches the network the way this one does: same archive, proxy and name server.
components='main'
if grep -q '^ID=ubuntu$' "$tree/etc/os-release"; then components='main universe'; fi
printf 'deb %s %s %s\n' "$mirror" "$suite" "$components" >"$tree/etc/apt/sources.list"
apt-config dump Acquire | grep -E '^Acquire::(http|https|ftp|Check-Valid-Until)\b' \
        >"$tree/etc/apt/apt.conf.d/90host" || true
cat /etc/resolv.conf >"$tree/etc/resolv.conf"
cat /etc/hosts >"$tree/etc/hosts"
if [ "$user" != root ]; then
        chroot "$tree" useradd --create-home --shell /bin/bash "$user"
        printf '%s ALL=(ALL) NOPASSWD: ALL\n' "$user" >"$tree/etc/sudoers.d/$user"
fi

home=$(chroot "$tree" sh -c "eval echo ~$user")
if [ "$worktree" = yes ]; then
        say "2. the files of $repository, copied"
        mkdir "$tree$home/abatis"
        tar -C "$repository" --exclude=./.git --exclude='./build*' -cf - . | tar -C "$tree$home/abatis" -xf -
else
        say "2. $repository, cloned at $(git -C "$repository" rev-parse --short HEAD)"
        git clone --quiet --no-hardlinks "$repository" "$tree$home/abatis"
fi
chroot "$tree" chown -R "$user:$user" "$home/abatis"

# Not a chroot: a process whose root is a chroot may not make user namespaces, which a real machine allows.
# The PID namespace ends whatever is still running inside when the command returns.
enter() { # COMMAND
        # shellcheck disable=SC2016 # expanded by the inner shell
        unshare --mount --pid --fork --kill-child --propagation private -- sh -eu -c '
                mount --bind "$1" "$1"
                cd "$1"
                mount -t proc -o nosuid,nodev,noexec proc proc
                mount --rbind /sys sys
                mount --rbind /dev dev
                mount -t tmpfs -o mode=1777 tmpfs dev/shm
                mkdir -p .outside
                pivot_root . .outside
                cd /
                umount -l /.outside
                # This shell stays, as process 1, to reap what the command leaves behind.
                status=0
                su - "$2" -c "cd abatis && export LANG=C.UTF-8 && $3" </dev/null || status=$?
                exit "$status"
        ' sh "$tree" "$user" "$1"
}

failed=
step=3
for target in $targets; do
        say "$step. make $target, as $user"
        begin=$(date +%s)
        if enter "make $target"; then
                say "make $target: passed after $(($(date +%s) - begin)) s"
        else
                say "make $target: FAILED after $(($(date +%s) - begin)) s"
                failed="$failed $target"
        fi
        step=$((step + 1))
done

if [ -n "$failed" ]; then
        say "bare $suite as $user: FAILED:$failed"
        exit 1
fi
say "bare $suite as $user: passed:$targets"
