# part_escape.sh: the attempts of test/escape, as an ordinary user with namespaces and without. Sourced by guest.sh.
# shellcheck shell=bash disable=SC2154
for file in /escape/cases_*.sh; do
        name=${file#/escape/cases_}
        [[ " $CASES " == *" ${name%.sh} "* ]] || rm "$file"
done
mkdir -p /escape/user /escape/bare
chown 4343:4343 /escape/user /escape/bare
cp /escape/attack /escape/setuid-attack
chmod 4755 /escape/setuid-attack
cp /escape/attack /escape/capable-attack
/escape/outside capability /escape/capable-attack
/escape/loosen /escape/attack /escape/stack-attack stack
/escape/loosen /escape/attack /escape/writable-attack code
chmod 755 /escape/stack-attack /escape/writable-attack
export ABATIS=/bin/abatis ESCAPE_SECONDS=300

for pass in $PASSES; do
        case $pass in
        user) echo 10000 >/proc/sys/user/max_user_namespaces ;;
        bare) echo 0 >/proc/sys/user/max_user_namespaces ;;
        esac
        /bin/enter 4343 user /bin/bash /escape/run.sh --pass "$pass" "/escape/$pass" /escape </dev/null 2>&1
done
