# clients.sh: whether programs that know nothing of a sandbox reach what is allowed, and nothing else. To be sourced.
# shellcheck shell=bash disable=SC2016,SC2154 # commands are for another shell; run.sh has the functions and directories
#
# Each line: a name, the program that must be installed, a command for sh that is given a host as $1 and prints "served" or
# "from the lab" if it got there. CLIENTS_ALLOWED is what may be reached; a client that needs another host than open.example says so.
CLIENTS_ALLOWED=(open.example:80 open.example:443 open.example:7 four.example:443 six.example:443 hosts.example:80
        '*.wild.example:443' 93.184.216.20:80)
CLIENTS_NAMES=(open.example four.example six.example hosts.example '*.wild.example')
clients=() # name, needs, host, refused host, command
client() { # NAME NEEDS COMMAND [HOST [REFUSED-HOST]]
        clients+=("$1" "$2" "${4:-open.example}" "${5:-closed.example}" "$3")
}
client curl_http curl 'curl -fsS -m 10 "http://$1/"'
client curl_https curl 'curl -fsS -m 10 "https://$1/"'
client curl_https_twice curl 'curl -fsS -m 10 "https://$1/" "https://$1/"'
client curl_http_two curl 'curl -fsS -m 10 --http2 "http://$1/" "http://$1/"'
client curl_post curl 'head -c 300000 /dev/zero | curl -fsS -m 10 --data-binary @- "http://$1/"'
client curl_ipv4_only curl 'curl -fsS -m 10 "https://$1/"' four.example
client curl_ipv6_only curl 'curl -fsS -m 10 "https://$1/"' six.example
client curl_wildcard curl 'curl -fsS -m 10 "https://$1/"' a.b.wild.example
client curl_address curl 'curl -fsS -m 10 "http://$1/"' 93.184.216.20 93.184.216.21
client curl_etc_hosts curl 'curl -fsS -m 10 "http://$1/"' hosts.example
client wget wget 'wget -qO- -T 10 -t 1 "https://$1/"'
client git_clone git 'git clone -q "https://$1/repo.git" copy && cat copy/README'
client npm_install npm 'npm install --silent --registry="https://$1/npm/" --no-audit --no-fund --cache=cache --fetch-retries=0 \
        abatis-lab-package && node -p "require(\"abatis-lab-package\")"'
client pip_install /usr/bin/pip3 'python3 -m pip -q --isolated --no-cache-dir --disable-pip-version-check install \
        --retries 0 --root-user-action ignore --target here -i "https://$1/simple" abatis-lab-package &&
        PYTHONPATH=here python3 -c "import abatis_lab_package as it; print(it.TEXT)"'
client pip_download /usr/bin/pip3 'python3 -m pip -q --isolated --no-cache-dir --disable-pip-version-check download \
        --retries 0 -d here -i "https://$1/simple" abatis-lab-package && ls here/*.whl && echo served'
client python_urllib python3 'python3 -B "$CLIENTS/fetch.py" urllib "https://$1/"'
client python_requests python3:requests 'python3 -B "$CLIENTS/fetch.py" requests "https://$1/"'
client python_asyncio python3 'python3 -B "$CLIENTS/fetch.py" asyncio "https://$1/"'
client node_fetch node 'node "$CLIENTS/fetch.mjs" fetch "https://$1/"'
client node_https node 'node "$CLIENTS/fetch.mjs" https "https://$1/"'
client java javac 'java -Xshare:auto "$CLIENTS/Fetch.java" "https://$1/" "$LAB/ca.pem"'
client go_static "$LAB/bin/fetch-go" '"$LAB/bin/fetch-go" "https://$1/"'
client musl_static "$LAB/bin/fetch-musl" '"$LAB/bin/fetch-musl" "$1"'
client glibc "$LAB/bin/fetch-glibc" '"$LAB/bin/fetch-glibc" "$1"'
client busybox_wget busybox 'busybox wget -q -O - "http://$1/"'
client busybox_nslookup busybox 'busybox nslookup "$1" && echo served'
client openssl_s_client openssl 'printf "GET / HTTP/1.0\r\nHost: %s\r\n\r\n" "$1" |
        openssl s_client -quiet -verify_return_error -connect "$1:443" -servername "$1"'
client getent getent 'getent ahosts "$1" && echo served'
client dig dig 'dig +short +tries=1 +time=5 A "$1" | grep . && echo served'
client dig_tcp dig 'dig +tcp +short +tries=1 +time=5 A "$1" | grep . && echo served'
client dig_other_server dig 'dig +short +tries=1 +time=5 A "$1" @9.9.9.9 | grep . && echo served'
client nc nc 'echo served | nc -N -w 10 "$1" 7'
client socat socat 'echo served | socat -t 10 - "TCP:$1:7"'
client bash_dev_tcp bash 'exec bash -c "exec 3<>/dev/tcp/\$0/7; echo served >&3; head -n 1 <&3" "$1"'
client perl_http_tiny perl:HTTP::Tiny \
        'perl -MHTTP::Tiny -e '\''print HTTP::Tiny->new(timeout => 10)->get("http://$ARGV[0]/")->{content}'\'' "$1"'
client ruby ruby 'ruby -rnet/http -e '\''puts Net::HTTP.get(URI("https://#{ARGV[0]}/"))'\'' "$1"'

is_installed() { # NEEDS
        case $1 in
        python3:*) python3 -c "import ${1#*:}" 2>/dev/null ;;
        perl:*) perl -M"${1#*:}" -e 1 2>/dev/null ;;
        *) [[ -n $(type -P "$1") ]] ;;
        esac
}
has_fetched() { # of TEXT: what the sandbox itself prints is no proof, so a whole line is looked for
        grep -qE '^(served( |$)|from the lab$)' <<<"$TEXT"
}

# Without namespaces there is no UDP, and /etc/hosts is the host's, whose address the list does not have.
is_unable() { # NAME
        [[ $MODE == none && " curl_etc_hosts go_static musl_static busybox_nslookup dig dig_tcp dig_other_server " == *" $1 "* ]]
}

test_client() { # NAME NEEDS HOST REFUSED COMMAND
        local name=$1 host=$3 refused=$4 command=$5 direct=- in=- out=- mark stray
        wants "client_$name$AS" || return 0
        if ! is_installed "$2"; then
                skip "client_$name$AS" "there is no $2"
                table+=("$name missing - -")
                return
        fi
        direct=yes
        for host in "$refused" "$3"; do
                fresh
                outside sh -c "$command" sh "$host"
                has_fetched && continue
                direct=NO
                not_ok "client_${name}_reaches_the_lab$AS" "the control failed: $host: ${TEXT:0:300}"
        done
        [[ $direct == NO ]] || ok "client_${name}_reaches_the_lab$AS"

        if is_unable "$name"; then
                fresh
                mark=$(sink mark)
                inside "${CLIENTS_ALLOWED[@]}" -- sh -c "$command" sh "$host"
                stray=$(sink stray "$mark" "${RELAY[@]}" -- "${CLIENTS_NAMES[@]}")
                [[ -z $stray ]]
                check "client_${name}_reaches_nobody$AS" $? "$stray $TEXT"
                table+=("$name $direct unable -")
                return
        fi
        fresh
        inside "${CLIENTS_ALLOWED[@]}" -- sh -c "$command" sh "$host"
        in=yes
        has_fetched || in=NO
        [[ $in == yes ]]
        check "client_${name}_reaches_what_is_allowed$AS" $? "$TEXT"

        fresh
        mark=$(sink mark)
        inside "${CLIENTS_ALLOWED[@]}" -- sh -c "$command" sh "$refused"
        stray=$(sink stray "$mark" "${RELAY[@]}" -- "${CLIENTS_NAMES[@]}")
        out=yes
        if has_fetched || [[ -n $stray ]]; then out=NO; fi
        [[ $out == yes ]]
        check "client_${name}_is_refused_what_is_not$AS" $? "$stray $TEXT"
        table+=("$name $direct $in $out")
}
test_clients() {
        local i row
        table=()
        for ((i = 0; i < ${#clients[@]}; i += 5)); do
                test_client "${clients[@]:i:5}"
        done
        ((${#table[@]})) || return
        printf '# %-20s %-8s %-8s %-8s\n' "client$AS" direct inside refused
        for row in "${table[@]}"; do
                # shellcheck disable=SC2086 # its words are the columns
                printf '# %-20s %-8s %-8s %-8s\n' $row
        done
}
