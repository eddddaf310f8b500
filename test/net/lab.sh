#!/bin/bash
# lab.sh: runs a program on a machine of its own kind: one where every address of the internet leads to this lab, and none out.
#
#   test/net/lab.sh [--uid UID] PROGRAM ARGUMENT...
#
# Takes root, for namespaces of network, mounts and processes; what runs in them ends with the program. There is only lo, and
# every address lies on it, so a packet can go nowhere else. Names are those of the file `zone`. The program finds in $LAB:
#   sink.log dns.log served.log   what arrived (sink.py reads them)
#   ca.pem                        who signed the certificates; it is in /etc/ssl/certs too
#   bin/                          whatever the caller put there: LAB may be set to a directory that exists
#   shared/                       unix sockets of a server outside, for everybody to read
set -eu
here=$(cd "$(dirname "$0")" && pwd)
readonly PYTHON=/usr/bin/python3

# ---- inside the namespaces ----
if [[ ${1:-} == --in-namespaces ]]; then
        shift
        uid=$1
        shift
        mount -t sysfs sysfs /sys # the one that was there shows the host's devices
        "$LAB/bin/lab"
        echo lab >/sys/class/net/lo/ifalias # so that who sees the lab's lo can be told from who sees another
        echo '0 2147483647' >/proc/sys/net/ipv4/ping_group_range
        echo 519 >/proc/sys/net/ipv4/tcp_fastopen # data in the first packet, without a cookie, for servers and clients
        mount --bind "$LAB/resolv.conf" /etc/resolv.conf
        mount --bind "$LAB/hosts" /etc/hosts
        mount --bind "$LAB/nsswitch.conf" /etc/nsswitch.conf
        mount --bind "$LAB/certs" /etc/ssl/certs
        # A daemon of the host's that resolves names would be asked by its socket, past the namespace.
        for daemon in /run/nscd /run/systemd/resolve; do
                [[ ! -d $daemon ]] || mount -t tmpfs -o mode=755 tmpfs "$daemon"
        done
        "$here/sink.py" record </dev/null >"$LAB/sink.out" 2>&1 &
        "$PYTHON" -B "$here/servers.py" "$here/zone" </dev/null >"$LAB/servers.out" 2>&1 &
        for ((i = 0; i < 1000; i++)); do
                [[ ! -e $LAB/ready ]] || break
                sleep 0.01
        done
        if [[ ! -e $LAB/ready ]] || ! "$here/sink.py" mark >/dev/null; then
                cat "$LAB/sink.out" "$LAB/servers.out" >&2
                echo "lab.sh: the servers do not answer" >&2
                exit 125
        fi
        exec_as=()
        [[ $uid == 0 ]] || exec_as=(setpriv --reuid "$uid" --regid "$uid" --clear-groups --inh-caps=-all --)
        "${exec_as[@]}" "$@"
        exit
fi

uid=0
if [[ ${1:-} == --uid ]]; then
        uid=$2
        shift 2
fi
if (($# == 0)); then
        sed -n '2,4s/^# \{0,1\}//p' "$0"
        exit 2
fi
if ((EUID)); then
        echo "lab.sh: takes root" >&2
        exit 125
fi

made=
if [[ -z ${LAB:-} ]]; then
        LAB=$(mktemp -d /var/tmp/abatis-lab.XXXXXX)
        made=$LAB
fi
export LAB
trap '[[ -z $made ]] || rm -rf "$made"' EXIT
chmod 755 "$LAB"
mkdir -p "$LAB/bin" "$LAB/shared"
"${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -Werror -o "$LAB/bin/lab" "$here/lab.c"
[[ -e $LAB/server.pem ]] || "$here/fixtures.sh" "$LAB"
echo 'nameserver 127.0.0.1' >"$LAB/resolv.conf"
printf '%s\n' '127.0.0.1 localhost lab' '::1 localhost' '93.184.216.50 hosts.example' >"$LAB/hosts"
printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' >"$LAB/nsswitch.conf"
rm -f "$LAB"/{sink.log,dns.log,served.log,ready} "$LAB"/shared/*
code=0
unshare --mount --net --pid --fork --kill-child --mount-proc -- "$0" --in-namespaces "$uid" "$@" || code=$?
exit "$code"
