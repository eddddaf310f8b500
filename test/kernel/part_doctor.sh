# part_doctor.sh: doctor --test must come to the same as explain and run: what is held is held, and what is refused is what this machine
# cannot hold. Sourced by guest.sh after part_agree.sh, which has the roles and variants.
# shellcheck shell=bash disable=SC2154,SC2153,SC2034
#
# A line "doctor" for each row: VARIANT ROLE BACKEND CLAUSE VERDICT REASON.

# Rows of the report, one for each clause: the backend, the clause, the verdict and the reason, with "|" between them.
read_tests() { # FILE
        local line row=
        while read -r line; do
                case $line in
                '"tests": '*) row=yes ;;
                '"backend": "'* | '"clause": "'* | '"verdict": "'*)
                        [ "$row" ] || continue
                        line=${line#*': "'}
                        printf '%s|' "${line%'",'}"
                        ;;
                '"reason": '*)
                        [ "$row" ] || continue
                        line=${line#*': '}
                        line=${line%,}
                        printf '%s\n' "${line//\"/}"
                        ;;
                esac
        done <"$1"
}

# There is no storage but memory; all else can be tried.
may_be_untested() { # CLAUSE
        [ "$1" = limits.written ]
}
# What this kernel, this variant and this role cannot hold.
must_be_refused() { # CLAUSE
        case "$ABI $VARIANT $ROLE $1" in
        *" no-userns"*" user network.bind" | *" no-userns"*" user filesystem.read" | *" no-userns"*" user process.privacy, names too") true ;;
        # The second because /tmp is a tmpfs here.
        *" no-userns"*" user limits.processes" | *" no-userns"*" user limits.memory") true ;;
        *) false ;;
        esac
}

doctor_tests() {
        local code backend clause verdict reason wrong='' held=0 untested=0
        as_role /bin/abatis doctor --test --json >/out 2>/err
        code=$?
        while IFS='|' read -r backend clause verdict reason; do
                printf 'doctor\t%s\t%s\t%s\t%s\t%s\t%s\n' "$VARIANT" "$ROLE" "$backend" "$clause" "$verdict" "$reason"
                [ "$backend" != none ] || continue
                case $verdict in
                held)
                        held=$((held + 1))
                        ! must_be_refused "$clause" || wrong+="$clause is held; "
                        ;;
                refused) must_be_refused "$clause" || wrong+="$clause is refused: $reason; " ;;
                untested)
                        untested=$((untested + 1))
                        may_be_untested "$clause" || wrong+="$clause is untested: $reason; "
                        ;;
                *) wrong+="$clause is $verdict: $reason; " ;;
                esac
        done < <(read_tests /out)
        if [ "$wrong" ]; then
                not_ok doctor_sees_what_holds "$wrong"
        elif [ "$held" -lt 20 ]; then
                not_ok doctor_sees_what_holds "$held clauses: exit $code: $(head -c 300 /err)"
        else
                ok doctor_sees_what_holds
        fi
        # The code says whether all was seen.
        if [ "$code" = "$((untested > 0))" ]; then
                ok doctor_says_so_by_its_code
        else
                not_ok doctor_says_so_by_its_code "exit $code, $untested untested: $(head -c 300 /err)"
        fi
}

# As those, and there, that the command line names: plain:user, say; all of them without it.
for VARIANT in $VARIANTS; do
        set_variant "$VARIANT"
        for ROLE in $ROLES; do
                [ -z "$DOCTOR" ] || [[ " $DOCTOR " == *" $VARIANT:$ROLE "* ]] || continue
                ID=$ORDINARY
                [ "$ROLE" = user ] || ID=0
                doctor_tests
        done
done
set_variant plain
