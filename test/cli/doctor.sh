#!/bin/bash
# doctor.sh: doctor says truly what this machine can enforce, for people and for programs.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

test_text_names_the_kernel_and_each_mechanism() {
        succeeds "$ABATIS" doctor
        for word in "$(uname -r)" Landlock seccomp namespace cgroup bwrap; do
                grep -qiF "$word" "$T/out" || fail "does not contain '$word'"
        done
}

test_json_has_the_facts_with_their_types() {
        succeeds "$ABATIS" doctor --json
        json_is "$T/out" "r['kernel'] == '$(uname -r)' and r['machine'] == '$(uname -m)'"
        json_is "$T/out" 'type(r["landlock_abi"]) is int and type(r["landlock_errata"]) is int'
        json_is "$T/out" 'r["namespaces"] in ("none", "user", "root") and type(r["ready"]) is bool'
        json_is "$T/out" 'len(r["findings"]) >= 6 and all(type(f["name"]) is str and type(f["available"]) is bool
                and f["detail"] for f in r["findings"])'
}

test_doctor_agrees_with_what_a_run_can_do() {
        local mode=user
        if is_root; then mode=root; fi
        succeeds "$ABATIS" doctor --json
        json_is "$T/out" "r['ready'] is True and r['namespaces'] == '$mode'"
        succeeds "$ABATIS" run -- true
}

# The system call itself, with no help from abatis: 444 is landlock_create_ruleset everywhere.
test_the_landlock_abi_is_the_kernels() {
        local abi
        abi=$(python3 -c 'import ctypes; print(max(0, ctypes.CDLL(None).syscall(444, None, 0, 1)))')
        succeeds "$ABATIS" doctor --json
        json_is "$T/out" "r['landlock_abi'] == $abi"
}

test_doctor_knows_where_user_namespaces_are_forbidden() {
        # A user namespace whose own limit is zero: what is forbidden there is forbidden to nobody else.
        cat >"$T/forbid" <<'END'
echo 0 >/proc/sys/user/max_user_namespaces || exit 99
exec setpriv --bounding-set=-all --inh-caps=-all "$@"
END
        chmod 755 "$T"
        capture unshare -U --map-root-user bash "$T/forbid" "$ABATIS" doctor --json
        [ "$RC" != 99 ] || skip "the limit of a user namespace cannot be set here"
        json_is "$T/out" 'r["namespaces"] in ("none", "root")'
        if grep -q '"namespaces": "none"' "$T/out"; then
                json_is "$T/out" 'r["ready"] == (r["landlock_abi"] >= 6)'
                json_is "$T/out" 'any("max_user_namespaces" in f["detail"] for f in r["findings"])'
                if grep -q '"ready": true' "$T/out"; then
                        succeeds unshare -U --map-root-user bash "$T/forbid" "$ABATIS" run -- touch mark
                        [ -e mark ] || fail "the command did not run"
                        capture unshare -U --map-root-user bash "$T/forbid" "$ABATIS" run --preset strict -- touch other
                else
                        capture unshare -U --map-root-user bash "$T/forbid" "$ABATIS" run -- touch other
                fi
                [ "$RC" = 125 ] || fail "run exited $RC: $(said)"
                [ ! -e other ] || fail "the command ran unprotected"
        fi
}

test_doctor_leaves_nothing() {
        local before
        before=$(cat /proc/self/mountinfo; listing "$T" | grep -vE "^$T(/out|/err)? ")
        succeeds python3 "$HELPER" alone 20 "$ABATIS" doctor
        [ "$before" = "$(cat /proc/self/mountinfo; listing "$T" | grep -vE "^$T(/out|/err)? ")" ] || fail "something changed"
}

main "$@"
