# part_bare.sh: where a sysctl forbids user namespaces, with the Landlock that this kernel has. Sourced by guest.sh.
# shellcheck shell=sh disable=SC2086 # AS is two words
echo 0 >/proc/sys/user/max_user_namespaces
ROLE=bare AS="/bin/hog as 1000"
mkdir -p /outside /ws/.ssh
for file in /outside/file /ws/.ssh/id /ws/file; do
        echo original >"$file"
done
chown -R 1000 /outside /ws

inside() { $AS /bin/abatis run --no-audit "$@" 2>&1; }

passes() { # NAME CONDITION-CODE TEXT
        if [ "$2" = 0 ]; then echo "ok ${ROLE}_$1"; else echo "not ok ${ROLE}_$1 - $3"; fi
}

# Refused inside, and then it works outside.
refuses() { # NAME WAY WHAT FLAG...
        name=$1 way=$2 what=$3
        shift 3
        said=$(inside "$@" -- /bin/ways "$way" "$what")
        case $said in
        done | *abatis:* | '') passes "$name" 1 "it said: $said" ;;
        *)
                said=$($AS /bin/ways "$way" "$what")
                [ "$said" = "done" ]
                passes "$name" $? "the control failed: $said"
                ;;
        esac
}

said=$($AS /bin/abatis explain 2>&1)
echo "$said" | grep -q "sweep"
passes namespaces_are_done_without $? "$said"
echo "# $(echo "$said" | grep -m1 backend)"
said=$(inside -- /bin/sh -c 'echo written >/ws/new; /bin/ways truncate /ws/file; /bin/ways open /ws/new; sleep 60 & kill $!; wait $!; echo $?')
case $said in
done*done*143) passes what_is_allowed_works 0 ;;
*) passes what_is_allowed_works 1 "$(echo $said)" ;;
esac
for way in read write chmod; do
        refuses "secret_is_not_reached_by_$way" $way /ws/.ssh/id --workspace /ws --deny /ws/.ssh
done
for way in truncate open make write chmod; do
        echo original >/outside/file
        refuses "file_outside_is_not_changed_by_$way" $way /outside/file
done
for way in kill tgkill group; do
        /bin/hog as 1000 /bin/setsid /bin/sleep 100 &
        other=
        until [ "$other" ]; do other=$(pidof sleep); done
        refuses "nobody_outside_is_sent_a_signal_by_$way" $way "$other"
        wait
done
/bin/hog as 1000 /bin/ways serve somebody &
server=$!
until grep -q @somebody /proc/net/unix; do sleep 0.1; done
refuses no_abstract_socket_is_reached connect somebody --preset mcp
kill -9 $server
