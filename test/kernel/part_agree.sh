# part_agree.sh: what `explain`, `doctor` and `run` say of a policy must be the same, and must be so. Sourced by guest.sh.
# shellcheck shell=bash disable=SC2154,SC2153
#
# For each variant of the machine, as each role and with each policy: explain says of every clause whether it is held. If
# all are, it must run; if not, run must refuse and name the first that is not. Where it runs, each clause that is held is
# tried from inside, by ways that work outside. Where it is refused the same is done with --best-effort: also there what is
# said to be held must hold. A line "tsv" says for each clause what came out:
#
#   tsv VARIANT ROLE POLICY CLAUSE VERDICT BY-OR-REASON        VERDICT: held (tried), claimed (not tried here), refused
readonly ORDINARY=4343

# What is passed to explain and run. What is allowed and must work: see allowed_by.
policies=(
        "dev|"
        "tool|--preset tool"
        "mcp|--preset mcp"
        "strict|--preset strict"
        "guard|--preset guard"
        "net-allow|--net allow"
        "net-unix-only|--net unix-only"
        "net-list|--connect 127.0.0.1:7001"
        "deny-inside|--deny /ws/secret"
        "deny-absent|--deny /ws/absent"
        "deny-outside|--deny /outside/secret"
        "deny-glob|--deny-glob **/.env"
        "protect-inside|--protect /ws/kept"
        "commands|--command /bin/ways"
        "limits|--open-files 64 --file-size 64KiB --processes 20"
        "limits-of-the-tree|--memory 64MiB --cpu 20s"
)

# The ways that a clause forbids, in pairs. In guard a clause of its own says what may not be written.
forbidden_by() { # POLICY CLAUSE
        case $1:$2 in
        guard:filesystem.write) echo make /etc/new ;;
        *:filesystem.write)
                echo write /outside/file truncate /outside/file open /outside/file chmod /outside/file \
                        utime /outside/file move /outside/file make /outside/new
                ;;
        *:filesystem.read) echo read /outside/file ;;
        *:"filesystem.deny /ws/secret") echo read /ws/secret write /ws/secret chmod /ws/secret move /ws/secret truncate /ws/secret ;;
        *:"filesystem.deny /ws/absent") echo make /ws/absent ;;
        *:"filesystem.deny /outside/secret") echo read /outside/secret write /outside/secret chmod /outside/secret ;;
        *:"filesystem.deny **/.env" | *:"filesystem.deny /"*"*"*".env") echo read /ws/.env write /ws/.env ;;
        *:"filesystem.deny /home/user/.ssh") echo read /home/user/.ssh/id write /home/user/.ssh/id chmod /home/user/.ssh/id ;;
        *:"filesystem.deny /ws/.git") echo read /ws/.git/config write /ws/.git/config ;;
        *:"filesystem.protect /ws/.git"*) echo write /ws/.git/config chmod /ws/.git/config make /ws/.git/hooks/new ;;
        *:"filesystem.protect /ws/kept") echo write /ws/kept chmod /ws/kept move /ws/kept truncate /ws/kept ;;
        *:"filesystem.protect /etc") echo write /etc/note chmod /etc/note ;;
        *:"filesystem.protect /bin" | *:"filesystem.protect /usr/bin") echo write /usr/bin/note chmod /usr/bin/note ;;
        *:filesystem.execute) echo start /outside/program ;;
        *:"filesystem.tmp private") echo read /tmp/visible write /tmp/visible ;;
        *:"network.mode deny" | *:"network.mode unix-only") echo port 7001 port 7002 datagram 7001 ;;
        *:"network.mode list") echo port 7002 datagram 7002 ;;
        *:"network.abstract none") echo connect somebody ;;
        *:process.privacy) echo ask "$VICTIM" trace "$VICTIM" read "/proc/$VICTIM/environ" status "/proc/$VICTIM/root/" ;;
        *:process.ipc) echo memory 4242 read /dev/shm/visible ;;
        *:process.devices) echo device /devices/null ;;
        *:process.privileges) if [ "$ROLE" = root ]; then echo capability 21; else echo root /bin/ways-root; fi ;;
        *:process.terminal) echo type x ;;
        *:process.kernel) echo key agree ;;
        *:process.descriptors) echo descriptor 200 ;;
        *:environment) echo variable MY_API_KEY ;;
        *:"process.commands"*) echo start /bin/ways-other ;;
        *:limits.open_files) echo files 100 ;;
        *:limits.file_size) echo size 100 ;;
        *:limits.processes) echo forks 40 ;;
        esac
}

allowed_by() { # POLICY
        echo device /dev/null "$(allowed_only_by "$1")"
}
allowed_only_by() { # POLICY
        case $1 in
        mcp) echo read /outside/file port 7002 ;;
        strict) echo make /ws/new truncate /ws/file ;;
        guard) echo read /outside/file make /ws/new port 7002 ;;
        net-allow) echo make /ws/new port 7002 datagram 7002 ;;
        net-list) echo make /ws/new port 7001 ;;
        commands) echo make /ws/new start /bin/ways ;;
        limits) echo make /ws/new files 20 size 20 forks 5 ;;
        *) echo make /ws/new truncate /ws/file read /outside/file ;;
        esac
}

as_role() {
        MY_API_KEY=secret /bin/enter "$ID" user "$@" 200</etc/passwd
}
ok() { echo "ok ${VARIANT}_${ROLE}_$1"; }
not_ok() { echo "not ok ${VARIANT}_${ROLE}_$1 - $2"; }

fresh() {
        local file
        rm -rf /outside /ws/* /ws/.git /ws/.env /home/user /etc/new
        mkdir -p /outside /ws/.git/hooks /ws/.git/objects /ws/.git/refs /home/user/.ssh
        for file in /outside/file /outside/secret /ws/file /ws/secret /ws/kept /ws/.env /ws/.git/config /home/user/.ssh/id \
                /tmp/visible /dev/shm/visible; do
                echo original >$file
        done
        echo 'ref: refs/heads/main' >/ws/.git/HEAD
        : >/ws/lock
        ln /bin/ways /outside/program
        chown -R "$ID:$ID" /outside/file /outside/secret /ws /home/user
        chown "$ID:$ID" /outside
}

# What no policy but guard lets change, whatever else is promised.
state() { stat -c '%n %a %s %Y' /outside/file /outside/secret /home/user/.ssh/id /tmp/visible; }

# Sets CLAUSES, HELD (yes or no) and HOW (by what, or why not), and UNHELD, the first that is not held.
read_explanation() { # FILE
        local line by=
        CLAUSES=() HELD=() HOW=() UNHELD=
        while read -r line; do
                case $line in
                '"clause": '*)
                        line=${line#'"clause": "'}
                        CLAUSES+=("${line%'",'}")
                        by=
                        ;;
                '"enforced": true,') HELD+=(yes) ;;
                '"enforced": false,')
                        HELD+=(no)
                        UNHELD=${UNHELD:-${CLAUSES[-1]}}
                        ;;
                '"reason": null') HOW+=("$by") ;;
                '"reason": "'*)
                        line=${line#'"reason": "'}
                        HOW+=("${line%'"'}")
                        ;;
                '"steps": '*) break ;;
                '"by": '* | [\]\[{}]* | '"preset"'* | '"backend"'* | '"workspace"'* | '"kernel"'* | '"landlock'* | '"clauses"'*) ;;
                '"'*)
                        line=${line%,}
                        by=$by${by:+ + }${line//\"/}
                        ;;
                esac
        done <"$1"
}

refused_clause() { # FILE: the clause that a message names
        sed -n 's/^abatis: \(.*\) cannot be enforced: .*/\1/p' "$1" | head -n 1
}

# Each way works outside, once: else that it is refused inside proves nothing.
declare -A WORKS
control() {
        local entry clause way what said failures=0
        WORKS=()
        fresh
        for clause in filesystem.write filesystem.read "filesystem.deny "{/ws/secret,/ws/absent,/outside/secret,/home/user/.ssh,/ws/.git} \
                "filesystem.deny **/.env" "filesystem.protect "{/ws/.git,/ws/kept,/etc,/bin} filesystem.execute "filesystem.tmp private" "network.mode "{deny,list} \
                "network.abstract none" process.{privacy,ipc,devices,terminal,privileges,kernel,descriptors} environment process.commands \
                limits.{open_files,file_size,processes} guard; do
                if [ "$clause" = guard ]; then
                        read -r -a entry < <(forbidden_by guard filesystem.write)
                else
                        read -r -a entry < <(forbidden_by any "$clause")
                fi
                while [ ${#entry[@]} -gt 0 ]; do
                        way=${entry[0]} what=${entry[1]}
                        entry=("${entry[@]:2}")
                        [ -z "${WORKS["$way $what"]:-}" ] || continue
                        said=$(cd /ws && as_role /bin/ways "$way" "$what")
                        WORKS["$way $what"]=$said
                        if [ "$said" != "done" ]; then
                                not_ok "control_of_${way}_${what//[\/.]/_}" "outside it says: $said"
                                failures=1
                        fi
                        [ "$way" != move ] || mv "$what.moved" "$what"
                done
        done
        # Outside somebody does stay: else nobody staying inside proves nothing.
        as_role /bin/ways stay /ws/lock >/out # no pipe, whose end it would hold for as long as it stays
        said="$(</out) $(/bin/ways held /ws/lock)"
        if [ "$said" != "done done" ]; then
                not_ok control_of_stay "outside it says: $said"
                failures=1
        fi
        # Its name is its parent's; all other ways are over, but the servers, which are root's children of this shell.
        for way in $(pidof ways); do
                [[ " ${servers//$'\n'/ } " == *" $way "* ]] || kill -9 "$way"
        done
        [ "$failures" != 0 ] || ok controls_work_outside
}

# Runs what the held clauses forbid and what is allowed, and compares. Sets BROKEN, the clauses that do not hold.
try_inside() { # POLICY FLAG...
        local policy=$1 i n=0 pair way clause before after said=() args=() whose=() lines=()
        shift
        # What is allowed needs nothing that is refused only if nothing is.
        pair=(make /ws/new)
        [ "$UNHELD" ] || read -r -a pair < <(allowed_by "$policy")
        [ "$policy" != mcp ] || [ -z "$UNHELD" ] || pair=(read /etc/passwd)
        args+=("${pair[@]}")
        for ((i = 0; i < ${#pair[@]}; i += 2)); do whose+=(allowed); done
        for ((i = 0; i < ${#CLAUSES[@]}; i++)); do
                [ "${HELD[i]}" = yes ] || continue
                read -r -a pair < <(forbidden_by "$policy" "${CLAUSES[i]}")
                args+=("${pair[@]}")
                for ((n = 0; n < ${#pair[@]}; n += 2)); do whose+=("$i"); done
        done
        before=$(state)
        as_role /bin/abatis run --no-audit --workspace /ws "$@" -- /bin/ways >/out 2>/err < <(printf '%s %s\n' stay /ws/lock "${args[@]}")
        CODE=$?
        mapfile -t said </out
        if [ "${#said[@]}" -ne $((${#whose[@]} + 1)) ]; then
                return 1
        fi
        for ((i = 0; i < ${#whose[@]}; i++)); do
                way="${args[2 * i]} ${args[2 * i + 1]}"
                if [ "${whose[i]}" = allowed ]; then
                        [ "${said[i + 1]}" = "done" ] || lines+=("$way must work: ${said[i + 1]}")
                        [ "$way" != "port 7001" ] || TRIED+="network.connect 127.0.0.1:7001 "
                        continue
                fi
                clause=${CLAUSES[${whose[i]}]}
                TRIED+="$clause "
                [ "${said[i + 1]}" != "done" ] || lines+=("$clause does not hold: $way")
                [ "${said[i + 1]}" != "done" ] || BROKEN+="$clause "
        done
        if [ "${said[0]}" = "done" ]; then
                TRIED+="process.lifetime "
                way=$(/bin/ways held /ws/lock) # at once: when abatis is back, nobody is left
                if [ "$way" = "done" ] && [[ " ${HELD_NAMES} " == *" process.lifetime "* ]]; then
                        lines+=("process.lifetime does not hold: somebody stays") BROKEN+="process.lifetime "
                fi
        fi
        after=$(state)
        if [ "$policy" != guard ] && [[ $HELD_NAMES == *" filesystem.write "* ]] && [ "$before" != "$after" ]; then
                lines+=("something outside was changed: $after")
        fi
        TEXT=$(printf '%s; ' "${lines[@]}")
        [ ${#lines[@]} -eq 0 ]
}

tell() { # POLICY: a line for each clause
        local i verdict
        for ((i = 0; i < ${#CLAUSES[@]}; i++)); do
                verdict=refused
                if [ "${HELD[i]}" = yes ]; then
                        verdict=claimed
                        [[ $TRIED != *" ${CLAUSES[i]} "* ]] || verdict=held
                        [[ $BROKEN != *" ${CLAUSES[i]} "* ]] || verdict=BROKEN
                fi
                printf 'tsv\t%s\t%s\t%s\t%s\t%s\t%s\n' "$VARIANT" "$ROLE" "$1" "${CLAUSES[i]}" "$verdict" "${HOW[i]}"
        done
}

# What must be refused on this machine, and nothing else: else a machine that refuses all would agree with itself.
must_refuse() { # POLICY
        case "$ABI $VARIANT $ROLE $1" in
        "0 "*) true ;; # named pipes can be written on read-only mounts; without mounts Landlock holds all
        *" no-userns"*" user strict") true ;;
        *" no-userns"*" user limits" | *" no-userns"*" user limits-of-the-tree") true ;;
        *) false ;;
        esac
}

agree() { # POLICY FLAG...
        local policy=$1 explained ran i
        shift
        fresh
        TEXT='' BROKEN=' ' TRIED=' '
        if ! as_role /bin/abatis explain --workspace /ws --best-effort --json "$@" >/explained 2>/err; then
                not_ok "${policy}_is_explained" "$(head -c 300 /err)"
                return
        fi
        read_explanation /explained
        HELD_NAMES=' '
        for ((i = 0; i < ${#CLAUSES[@]}; i++)); do
                [ "${HELD[i]}" != yes ] || HELD_NAMES+="${CLAUSES[i]} "
        done
        if must_refuse "$policy"; then i=refused; else i=held; fi
        [ "${UNHELD:+refused}" = "${i#held}" ] ||
                not_ok "${policy}_is_${i}_here" "not held: '$UNHELD'"
        if [ -z "$UNHELD" ]; then
                if try_inside "$policy" "$@"; then
                        ok "${policy}_holds_as_explained"
                else
                        not_ok "${policy}_holds_as_explained" "${TEXT:-exit $CODE: $(head -c 300 /err) $(tr '\n' , </out)}"
                fi
        else
                as_role /bin/abatis explain --workspace /ws "$@" >/dev/null 2>/err
                explained="$? $(refused_clause /err)"
                as_role /bin/abatis run --no-audit --workspace /ws "$@" -- /bin/true >/out 2>/err
                ran="$? $(refused_clause /err)"
                # Where there is no backend at all, that is said, and no clause.
                if [ "$explained$ran" = "125 125 " ] && grep -q 'nothing on this machine can hold a sandbox: native: ' /err; then
                        ok "${policy}_is_refused_as_there_is_no_backend"
                elif [ "$explained" = "125 $UNHELD" ] && [ "$ran" = "125 $UNHELD" ]; then
                        ok "${policy}_is_refused_as_explained"
                else
                        not_ok "${policy}_is_refused_as_explained" \
                                "not held: '$UNHELD'; explain: $explained; run: $ran: $(head -c 300 /err)"
                fi
                if try_inside "$policy" --best-effort "$@"; then
                        ok "${policy}_holds_the_rest_with_best_effort"
                else
                        not_ok "${policy}_holds_the_rest_with_best_effort" "${TEXT:-exit $CODE: $(head -c 300 /err)}"
                fi
        fi
        tell "$policy"
}

doctor() { # agrees with whether the default policy runs, and with what the kernel is known to have
        local ready code ran abi
        as_role /bin/abatis doctor --json >/out 2>/err
        code=$?
        ready=$(sed -n 's/.*"ready": \([a-z]*\).*/\1/p' /out)
        abi=$(sed -n 's/.*"landlock_abi": \([0-9]*\).*/\1/p' /out)
        as_role /bin/abatis run --no-audit --workspace /ws -- /bin/true >/dev/null 2>/err
        ran=$?
        case "$ready $code $ran" in
        "true 0 0") ok doctor_is_right_that_it_runs ;;
        "false 1 125") ok doctor_is_right_that_it_does_not_run ;;
        *) not_ok doctor_is_right "ready $ready, exit $code; run: exit $ran: $(head -c 300 /err)" ;;
        esac
        if [ "$abi" = "$ABI" ]; then
                ok doctor_finds_the_landlock_of_this_kernel
        else
                not_ok doctor_finds_the_landlock_of_this_kernel "ABI $abi instead of $ABI"
        fi
}

# All for an ordinary user on a plain machine; else the few that are asked for, if there are such.
is_wanted() { # POLICY
        [ "$VARIANT $ROLE" = "plain user" ] || [ -z "$FEW" ] || [[ " $FEW " == *" $1 "* ]]
}

# Each is as the machine was, with one thing less. What was forbidden is allowed again for the next.
set_variant() { # VARIANT
        echo 1 >/proc/sys/kernel/unprivileged_userns_clone
        echo 10000 >/proc/sys/user/max_user_namespaces
        case $1 in
        plain | no-landlock) ;;
        no-userns-clone) echo 0 >/proc/sys/kernel/unprivileged_userns_clone ;;
        no-userns) echo 0 >/proc/sys/user/max_user_namespaces ;;
        esac
}

cp /bin/ways /bin/ways-root
cp /bin/ways /bin/ways-other
chmod 4755 /bin/ways-root
mkdir /devices
mknod -m 666 /devices/null c 1 3
echo >/tmp/visible
echo >/dev/shm/visible
chmod 666 /tmp/visible /dev/shm/visible
echo >/etc/note
echo >/usr/bin/note
chown 4343:4343 /etc/note /usr/bin/note
chmod 777 /etc
/bin/ways make_memory 4242 >/dev/null
/bin/ways serve_port 7001 &
/bin/ways serve_port 7002 &
/bin/ways serve somebody &
servers=$(jobs -p)
for VARIANT in $VARIANTS; do
        set_variant "$VARIANT"
        for ROLE in $ROLES; do
                ID=$ORDINARY
                [ "$ROLE" = user ] || ID=0
                SECRET=of-the-victim as_role /bin/sleep 1000 &
                VICTIM=
                until [ "$VICTIM" ]; do VICTIM=$(pidof sleep); done
                control
                doctor
                set -f # no pattern is meant for files
                for policy in "${policies[@]}"; do
                        # shellcheck disable=SC2086 # words on purpose
                        if is_wanted "${policy%%|*}"; then agree "${policy%%|*}" ${policy#*|}; fi
                done
                set +f
                kill -9 "$VICTIM"
                wait "$!" 2>/dev/null
        done
done
set_variant plain
# shellcheck disable=SC2086 # some
kill -9 $servers
wait
