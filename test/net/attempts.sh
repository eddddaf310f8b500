# attempts.sh: attempts to get past the sandbox, each judged by what arrived in the lab. To be sourced.
# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has the functions and directories
#
# Each line: a name that says what is tried, the evidence that it got through, and the command. The evidence is what sink.py is
# asked (`received`, `asked`, `served`), or `exit`: where nothing can arrive anywhere, the attempt itself knows best.
# Whatever arrives for somebody who is not allowed is evidence too.
# CONTROL says how the same command shows that it works outside of the sandbox, where the evidence must be there:
#   user     as the same user
#   root     as root: the kernel asks for privileges, which the sandbox must not give
#   kernel   if this kernel has it; else there is nothing to see
#   none     not at all, by nature
# LIMIT=REASON marks what is known to be open, or cannot be closed without reading what is encrypted: it is tried, told, and not counted as a fault.
# BEFORE starts the command outside, with something to inherit.
ATTEMPTS_ALLOWED=(open.example:80 open.example:443 open.example:7 '*.wild.example:443' '*.rebind.example:80' '*.turning.example:80'
        loop.example:80 loop6.example:80 metadata.example:80 private.example:80 mapped.example:80 zero.example:80
        93.184.216.20:80)
ATTEMPTS_PLACES=(93.184.216.{10,20}:80 93.184.216.10:{443,7} 2606:2800:21f:cb07::10:{80,443,7} 93.184.216.30:443
        93.184.216.{40,41}:80)
ATTEMPTS_NAMES=(open.example '*.wild.example' '*.rebind.example' '*.turning.example' {loop,loop6,metadata,private,mapped,zero}.example)
attempts=() # name, evidence, control, limit, before, command
attempt() { # NAME EVIDENCE COMMAND
        attempts+=("$1" "$2" "${CONTROL:-user}" "${LIMIT:-}" "${BEFORE:-}" "$3")
}

# ---- addresses ----
attempt name_not_allowed 'asked closed.example' 'attempt connect closed.example 443'
attempt other_port_of_an_allowed_name 'received tcp 93.184.216.10 25' 'attempt connect open.example 25'
attempt udp_to_an_allowed_name 'received udp 93.184.216.10 443' 'attempt send open.example 443'
attempt address_of_an_allowed_name 'received tcp 93.184.216.10 443' 'attempt connect 93.184.216.10 443'
attempt other_port_of_an_allowed_address 'received tcp 93.184.216.20 443' 'attempt connect 93.184.216.20 443'
attempt address_beside_an_allowed_one 'received tcp 93.184.216.21 80' 'attempt connect 93.184.216.21 80'
attempt address_not_allowed 'received tcp 93.184.216.99 25' 'attempt connect 93.184.216.99 25'
attempt ipv6_address_not_allowed 'received tcp 2606:2800:21f:cb07::99 25' 'attempt connect 2606:2800:21f:cb07::99 25'
attempt ipv4_mapped_ipv6 'received tcp 93.184.216.99 25' 'attempt connect ::ffff:93.184.216.99 25'
attempt nat64_address 'received tcp 64:ff9b::5db8:d863 25' 'attempt connect 64:ff9b::93.184.216.99 25'
attempt sixtofour_address 'received tcp 2002:5db8:d863::1 25' 'attempt connect 2002:5db8:d863::1 25'
attempt decimal_address 'received tcp 93.184.216.99 25' 'attempt connect 1572395107 25'
attempt hexadecimal_address 'received tcp 93.184.216.99 25' 'attempt connect 0x5db8d863 25'
attempt octal_address 'received tcp 93.184.216.99 25' 'attempt connect 0135.0270.0330.0143 25'
attempt short_address 'received tcp 93.184.216.99 25' 'attempt connect 93.184.55395 25'
attempt loopback 'received tcp 127.0.0.1 8123' 'attempt connect 127.0.0.1 8123'
attempt loopback_by_name 'received tcp * 8123' 'attempt connect localhost 8123'
attempt loopback_in_short 'received tcp 127.0.0.1 8123' 'attempt connect 127.1 8123'
attempt loopback_by_another_address 'received tcp 127.45.6.7 8123' 'attempt connect 127.45.6.7 8123'
attempt loopback_ipv6 'received tcp ::1 8123' 'attempt connect ::1 8123'
attempt loopback_mapped 'received tcp 127.0.0.1 8123' 'attempt connect ::ffff:127.0.0.1 8123'
attempt unspecified_address 'received tcp 127.0.0.1 8123' 'attempt connect 0.0.0.0 8123'
attempt unspecified_address_ipv6 'received tcp ::1 8123' 'attempt connect :: 8123'
attempt metadata_service 'received tcp 169.254.169.254 80' 'attempt connect 169.254.169.254 80'
attempt metadata_service_ipv6 'received tcp fd00:ec2::254 80' 'attempt connect fd00:ec2::254 80'
attempt link_local 'received tcp 169.254.7.7 80' 'attempt connect 169.254.7.7 80'
attempt link_local_ipv6 'received tcp fe80::1 80' 'attempt connect fe80::1%lo 80'
attempt private_address 'received tcp 10.0.0.1 80' 'attempt connect 10.0.0.1 80'
attempt guessed_fake_address 'received tcp 198.18.0.77 443' 'attempt connect 198.18.0.77 443'
attempt udp_datagram 'received udp 93.184.216.99 9999' 'attempt send 93.184.216.99 9999'
attempt udp_datagram_ipv6 'received udp 2606:2800:21f:cb07::99 9999' 'attempt send 2606:2800:21f:cb07::99 9999'
attempt udp_to_loopback 'received udp 127.0.0.1 9999' 'attempt send 127.0.0.1 9999'
attempt broadcast 'received udp 255.255.255.255 9999' 'attempt send 255.255.255.255 9999'
attempt multicast 'received udp 224.0.0.251 5353' 'attempt send 224.0.0.251 5353'
attempt multicast_ipv6 'received udp ff02::fb 5353' 'attempt send ff02::fb%lo 5353'

# ---- sockets ----
attempt fastopen_by_sendto 'received tcp 93.184.216.99 25' 'attempt fastopen sendto'
attempt fastopen_by_sendmsg 'received tcp 93.184.216.99 25' 'attempt fastopen sendmsg'
attempt fastopen_by_sendmmsg 'received tcp 93.184.216.99 25' 'attempt fastopen sendmmsg'
attempt fastopen_at_connect 'received tcp 93.184.216.99 25' 'attempt fastopen-connect'
attempt sendmmsg_to_many 'received udp 93.184.216.163 9999' 'attempt sendmmsg'
attempt bound_to_device 'received tcp 93.184.216.99 25' 'attempt device'
attempt free_source_address 'received tcp 93.184.216.99 25' 'attempt foreign-source freebind'
attempt another_connection_by_the_same_socket 'received tcp 93.184.216.99 25' 'attempt again'
attempt ping_socket 'received icmp 93.184.216.99 0' 'attempt ping'
attempt ping_socket_ipv6 'received icmp6 2606:2800:21f:cb07::99 0' 'attempt ping 2606:2800:21f:cb07::99'
CONTROL=root
attempt transparent_source_address 'received tcp 93.184.216.99 25' 'attempt foreign-source transparent'
attempt source_route 'received tcp 93.184.216.10 25' 'attempt source-route'
attempt raw_socket 'received udp 93.184.216.99 9999' 'attempt raw'
attempt packet_socket 'received udp 93.184.216.99 9999' 'attempt packet'
attempt packet_socket_with_frame 'received udp 93.184.216.99 9999' 'attempt packet raw'
attempt netlink_route exit 'attempt route'
attempt tun_device exit 'attempt tun'
CONTROL=kernel
attempt mptcp 'received tcp 93.184.216.99 25' 'attempt mptcp'
attempt sctp 'received sctp 93.184.216.99 *' 'attempt sctp'
attempt dccp 'received dccp 93.184.216.99 *' 'attempt dccp'
attempt segment_route 'received * 2606:2800:21f:cb07::99 *' 'attempt segments'
attempt udplite 'received udplite 93.184.216.99 *' 'attempt udplite'
# A family, a type, a protocol: each leads to somebody whom no network namespace holds.
while read -r name numbers; do
        attempt "socket_of_$name" exit "attempt family $numbers"
done <<'END'
ax25 3 2 0
appletalk 5 2 0
x25 9 5 0
key 15 3 2
rds 21 5 0
pppox 24 1 0
llc 26 2 0
infiniband 27 3 0
can 29 3 1
tipc 30 5 0
bluetooth 31 3 1
rxrpc 33 2 2
phonet 35 2 0
ieee802154 36 2 0
caif 37 5 0
alg 38 5 0
nfc 39 5 0
vsock 40 1 0
kcm 41 5 0
qipcrtr 42 2 0
smc 43 1 0
xdp 44 3 0
mctp 45 2 0
netlink_usersock 16 3 2
netlink_sock_diag 16 3 4
netlink_xfrm 16 3 6
netlink_audit 16 3 9
netlink_connector 16 3 11
netlink_netfilter 16 3 12
netlink_uevent 16 3 15
netlink_generic 16 3 16
netlink_crypto 16 3 21
smc_over_tcp 2 1 256
END
attempt io_uring 'received tcp 93.184.216.99 25' 'attempt io-uring'
attempt io_uring_to_a_unix_socket 'served unix-path data=secret' 'attempt io-uring unix'
attempt call_of_32_bits 'served unix-path data=secret' 'attempt compat'
attempt listing_of_the_hosts_sockets exit 'attempt sock-diag'
CONTROL=user

# ---- races, descriptors, processes ----
attempt race_for_the_address 'received tcp 93.184.216.99 25' 'attempt race'
attempt long_race_for_the_address 'received tcp 93.184.216.99 25' 'attempt race 20000'
attempt race_for_the_family 'served unix-path data=secret' 'attempt race unix'
attempt socket_passed_by_another_process 'received tcp 93.184.216.99 25' 'attempt passed'
attempt unix_socket_by_path 'served unix-path data=secret' 'attempt unix path'
attempt unix_socket_abstract 'served unix-abstract data=secret' 'attempt unix abstract'
attempt unix_datagram_by_path 'served unix-path-letter data=secret' 'attempt unix-letter path'
attempt unix_datagram_abstract 'served unix-abstract-letter data=secret' 'attempt unix-letter abstract'
attempt unix_pair_aimed_elsewhere 'served unix-path-letter data=secret' 'attempt unix-letter path pair'
attempt unix_socket_by_the_root_of_another 'served unix-path data=secret' 'attempt root'
attempt descriptor_of_another_process 'received * 93.184.216.99 *' 'attempt steal'
attempt trace_of_another_process exit 'attempt ptrace'
attempt memory_of_another_process exit 'attempt memory'
attempt environment_of_another_process exit 'attempt environment'
attempt hosts_connections_in_proc exit 'attempt proc-net'
LIMIT='/sys is that of the host, in every mode'
attempt hosts_devices_in_sys exit 'attempt sys-net'
LIMIT=
CONTROL=root
attempt network_of_another_process 'received tcp 93.184.216.99 25' 'attempt setns'
CONTROL=none
attempt network_of_another_process_as_new_root 'received tcp 93.184.216.99 25' 'attempt setns unshare'
CONTROL=user
BEFORE='attempts.py sockets descriptors'
attempt inherited_descriptors 'received tcp 93.184.216.99 25' 'attempt inherited'
BEFORE='attempts.py sockets stdin-tcp'
attempt inherited_connection_as_stdin 'received tcp 93.184.216.99 25' 'attempt inherited'
BEFORE='attempts.py sockets stdin-udp'
attempt inherited_datagrams_as_stdin 'received udp 93.184.216.99 9999' 'attempt inherited'
BEFORE='attempts.py sockets stdout-tcp'
attempt inherited_connection_as_stdout 'received tcp 93.184.216.99 25' 'attempt inherited'
BEFORE=

# ---- names ----
attempt dns_tunnel_by_address 'asked secret.tunnel.example' 'attempts.py dns A secret.tunnel.example 127.0.0.1'
attempt dns_tunnel_by_text 'asked secret.tunnel.example' 'attempts.py dns TXT secret.tunnel.example 127.0.0.1'
attempt dns_tunnel_by_null 'asked secret.tunnel.example' 'attempts.py dns NULL secret.tunnel.example 127.0.0.1'
attempt dns_tunnel_by_any 'asked secret.tunnel.example' 'attempts.py dns ANY secret.tunnel.example 127.0.0.1'
attempt dns_tunnel_over_tcp 'asked secret.tunnel.example' 'attempts.py dns TXT secret.tunnel.example 127.0.0.1 tcp'
attempt dns_tunnel_by_another_server 'asked secret.tunnel.example' 'attempts.py dns TXT secret.tunnel.example 8.8.8.8'
attempt dns_tunnel_by_another_server_over_tcp 'asked secret.tunnel.example' 'attempts.py dns A secret.tunnel.example 8.8.8.8 tcp'
attempt dns_tunnel_by_ipv6 'asked secret.tunnel.example' 'attempts.py dns A secret.tunnel.example 2001:4860:4860::8888'
attempt dns_tunnel_below_an_allowed_name 'asked secret.open.example' 'attempts.py dns A secret.open.example 127.0.0.1'
attempt dns_tunnel_in_a_long_name 'asked tunnel.example' \
        "attempts.py dns A $(printf 's%.0s' {1..63}).$(printf 'e%.0s' {1..63}).$(printf 'c%.0s' {1..63}).tunnel.example 127.0.0.1"
attempt dns_text_of_an_allowed_name 'asked TXT open.example' 'attempts.py dns TXT open.example 127.0.0.1'
attempt dns_keys_of_an_allowed_name 'asked HTTPS open.example' 'attempts.py dns HTTPS open.example 127.0.0.1'
attempt dns_over_tls 'received tcp 8.8.8.8 853' 'attempt connect 8.8.8.8 853'
attempt name_that_turns_to_the_loopback 'served http 127.0.0.1 80' 'attempts.py visit NONCE.rebind.example'
attempt name_that_turns_to_the_metadata_service 'served http 169.254.169.254 80' 'attempts.py visit NONCE.turning.example'
attempt name_of_the_loopback 'received tcp 127.0.0.1 80' 'attempt connect loop.example 80'
attempt name_of_the_loopback_ipv6 'received tcp ::1 80' 'attempt connect loop6.example 80'
attempt name_of_the_loopback_mapped 'received tcp 127.0.0.1 80' 'attempt connect mapped.example 80'
attempt name_of_the_metadata_service 'received tcp 169.254.169.254 80' 'attempt connect metadata.example 80'
attempt name_of_a_private_address 'received tcp 10.1.2.3 80' 'attempt connect private.example 80'
attempt name_of_no_address 'received tcp 127.0.0.1 80' 'attempt connect zero.example 80'

# ---- what is said on a connection that is allowed ----
for kind in other-host capitals other-port byte-by-byte second-request pipelined after-body two-hosts two-hosts-reversed folded \
        folded-second space-before-colon line-feeds line-feed-inside; do
        attempt "http_${kind//-/_}" 'served host=*[cC][lL]*.example' "attempts.py http $kind"
done
attempt http_absolute_form 'served target=http://closed.example/' 'attempts.py http absolute-form'
attempt http_two_lengths 'served target=/smuggled' 'attempts.py http two-lengths'
attempt http_no_host 'served target=/nobody' 'attempts.py http no-host'
attempt http_connect 'served target=closed.example:25' 'attempts.py http connect'
attempt http_connect_other_host 'served target=closed.example:25' 'attempts.py http connect-other-host'
attempt http_two 'served method=PRI' 'attempts.py http http2'
attempt http_upgrade 'served upgrade=h2c' 'attempts.py http upgrade'
attempt http_not_at_all 'served method=EHLO' 'attempts.py http not-http'
for kind in other-name two-names two-names-reversed two-extensions two-extensions-reversed small-records byte-by-byte capitals \
        zero-byte name-below; do
        attempt "tls_${kind//-/_}" 'served hello*names=*[cC][lL]*.example' "attempts.py tls $kind"
done
attempt tls_address 'served names=93.184.216.99' 'attempts.py tls address'
attempt tls_no_name 'served hello 93.184.216.10 443 names=' 'attempts.py tls no-name'
attempt tls_plain_http 'served plain-443' 'attempts.py tls plain-http'
attempt tls_not_at_all 'served plain-443' 'attempts.py tls not-tls'
LIMIT='the host is named within the encryption'
attempt tls_fronting 'served sni=open.example host=closed.example' 'attempts.py tls fronting'
LIMIT=

has_evidence() { # MARK EVIDENCE EXIT-CODE
        local words
        [[ $2 != exit ]] || return "$3"
        read -r -a words <<<"$2"
        if [[ ${words[0]} == received ]]; then
                sink received "$1" "${words[@]:1}"
        else
                sink "${words[0]}" "$1" "${2#* }"
        fi
}
test_attempt() { # NAME EVIDENCE CONTROL LIMIT BEFORE COMMAND
        local name=attempt_$1$AS evidence=$2 control=$3 limit=$4 before command mark="" code stray direct=yes in=closed was=$ID tries=0 patience=10
        wants "$name" || return 0
        [[ $MODE != none || $1 != hosts_connections_in_proc ]] || limit='without namespaces /proc is that of the host'
        read -r -a before <<<"$5"
        read -r -a command <<<"$6"
        # A name that turns does so for each command anew.
        command=("${command[@]/NONCE/outside-$RANDOM}")
        before=("${before[@]/#attempts.py/$LAB/bin/attempts.py}")
        command[0]=$LAB/bin/${command[0]}
        # Of what not every kernel has it may never come.
        [[ $control != kernel && $evidence != exit ]] || patience=1
        if [[ $control == none ]]; then
                direct='-'
        else
                [[ $control != root ]] || ID=0
                fresh
                [[ $evidence == exit ]] || mark=$(sink mark)
                outside "${before[@]}" "${command[@]}"
                code=$?
                ID=$was
                # What is sent is written down by who receives it, who may take a moment.
                until has_evidence "$mark" "$evidence" "$code"; do
                        ((tries++ < patience)) || { direct=no && break; }
                        sleep 0.3
                done
        fi
        if [[ $direct == no && $control != kernel ]]; then
                not_ok "$name" "the control failed: exit $code: $TEXT"
                attempts_table+=("$1 NO -")
                return
        fi

        fresh
        command=("${command[@]/outside-/inside-}")
        mark=$(sink mark)
        as_user "${before[@]}" "$INSIDE" "${ATTEMPTS_ALLOWED[@]}" -- "${command[@]}"
        code=$?
        sleep 0.1
        stray=$(sink stray "$mark" "${ATTEMPTS_PLACES[@]}" "${RELAY[@]}" -- "${ATTEMPTS_NAMES[@]}")
        if has_evidence "$mark" "$evidence" "$code" || [[ -n $stray ]]; then in=OPEN; fi
        # Who did not even start was not refused. (What is inherited may be a reason not to start.)
        if [[ -z $5 && ($code == 2 || $code == 12[567] || $TEXT == *Traceback*) ]]; then
                not_ok "$name" "did not run inside: exit $code: ${TEXT:0:200}"
                attempts_table+=("$1 $direct -")
                return
        fi
        attempts_table+=("$1 $direct $in")
        if [[ $in == closed && $direct == no ]]; then
                skip "$name" "this kernel has none"
        elif [[ $in == closed ]]; then
                ok "$name"
        elif [[ -n $limit ]]; then
                skip "$name" "a limit: $limit"
        else
                not_ok "$name" "got through: $evidence ($stray) exit $code: ${TEXT:0:200}"
        fi
}
# Somebody outside, of the same user, who has a socket and a secret; its pid into `victim`.
start_victim() {
        setpriv --reuid "$ID" --regid "$ID" --clear-groups --inh-caps=-all -- env -i SECRET=of-the-victim \
                "$LAB/bin/attempt" be-victim </dev/null >/dev/null 2>&1 &
        victim=$!
        for _ in {1..300}; do
                [[ $(<"/proc/$victim/comm") != lab-victim ]] || return
                sleep 0.01
        done
}
test_attempts() {
        local i row victim
        attempts_table=()
        fresh
        if wants "attempts_have_what_is_allowed$AS"; then
                inside "${ATTEMPTS_ALLOWED[@]}" -- "$LAB/bin/attempt" connect open.example 443
                check "attempts_have_what_is_allowed$AS" $? "$TEXT"
        fi
        start_victim
        for ((i = 0; i < ${#attempts[@]}; i += 6)); do
                test_attempt "${attempts[@]:i:6}"
        done
        kill "$victim"
        wait "$victim" 2>/dev/null
        ((${#attempts_table[@]})) || return
        printf '# %-44s %-8s %-8s\n' "attempt$AS" direct inside
        for row in "${attempts_table[@]}"; do
                # shellcheck disable=SC2086 # its words are the columns
                printf '# %-44s %-8s %-8s\n' $row
        done
}
