#!/bin/bash
# packages.sh: packages of skills: listed, shown, judged, installed and removed; every refusal with its control. Called by run.sh, which
# names the directory $T.
set -u
PATTERN=${1:-*}
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. "$T/test/sums.sh"
abatis=$T/bin/abatis

skip() { # NAME REASON
        echo "skip $1 - $2"
        skipped=$((skipped + 1))
}

# ---- what a test has -----------------------------------------------------------------------------------------

# A home and a good package in W/hello, for each test anew.
enter() {
        W=$(mktemp -d "$T/scratch/XXXXXX") || exit 1
        cd "$W" || exit 1
        export HOME=$W/home
        unset XDG_DATA_HOME XDG_CONFIG_HOME XDG_STATE_HOME
        store=$HOME/.local/share/abatis/skills keys=$HOME/.config/abatis/keys
        mkdir -p "$HOME" hello
        cp "$T/scratch/hello.wasm" hello/hello.wasm
        manifest hello
}

manifest() { # PACKAGE [LINE...]: its skill.yaml
        printf '%s\n' "name: $1" 'version: "1.0"' 'description: Says hello.' 'module: hello.wasm' "${@:2}" >"$1/skill.yaml"
}

skill() { # WORD...: what it says is in $said
        said=$(timeout -s KILL 20 "$abatis" skill "$@" 2>&1 </dev/null)
}

succeeds() { # WORD...
        skill "$@" || {
                echo "skill $*: exit $?: $said"
                return 1
        }
}

refused() { # TEXT WORD...: with this in it, on one line, and nothing is installed but what was
        local text=$1 before
        shift
        before=$(find "$HOME/.local" -type f -exec sha256sum {} + 2>/dev/null | sort)
        if skill "$@"; then
                echo "skill $* was not refused: $said"
                return 1
        fi
        [[ $said == *"$text"* && $said != *$'\n'* ]] || {
                echo "skill $* said '$said', not '$text'"
                return 1
        }
        [ "$before" = "$(find "$HOME/.local" -type f -exec sha256sum {} + 2>/dev/null | sort)" ] || {
                echo "the store has changed"
                return 1
        }
}

says() { # TEXT: what the last one said
        [[ $said == *"$1"* ]] || {
                echo "'$said' has no '$1'"
                return 1
        }
}

sum() { # FILE
        sha256sum "$1" | cut -d ' ' -f 1
}

tier() { # NAME: of the installed one
        "$abatis" skill list --json | python3 -c 'import json,sys; print(*[s.get("tier", s["state"]) for s in json.load(sys.stdin) if s["name"] == sys.argv[1]])' "$1"
}

is_tier() { # NAME TIER
        local have
        have=$(tier "$1")
        [ "$have" = "$2" ] || {
                echo "$1 is '$have', not '$2'"
                return 1
        }
}

# ---- installing ----------------------------------------------------------------------------------------------

test_an_installed_skill_is_listed_shown_and_removed() {
        succeeds list && [ -z "$said" ] &&
                succeeds install hello && says 'hello 1.0: installed, untrusted' &&
                succeeds list && says 'Says hello.' && says ' ok ' &&
                succeeds show hello && says "$(sum hello/hello.wasm)" && says 'wasi_snapshot_preview1.fd_write' && says '4 at most' &&
                succeeds remove hello && succeeds list && [ -z "$said" ] &&
                [ -z "$(find "$store" -mindepth 1)" ]
}

test_json_is_json() {
        manifest hello 'input: {type: object, properties: {who: {type: string}}}' 'output: {type: object}' 'policy: {limits: {cpu: 5s}}'
        succeeds install hello || return
        "$abatis" skill list --json | python3 -c '
import json, sys
(skill,) = json.load(sys.stdin)
assert skill == {"name": "hello", "version": "1.0", "description": "Says hello.", "tier": "untrusted", "state": "ok",
                 "input": {"type": "object", "properties": {"who": {"type": "string"}}}, "output": {"type": "object"}}, skill' &&
                "$abatis" skill show hello --json | python3 -c '
import json, sys
skill = json.load(sys.stdin)
assert skill["state"] == "ok" and skill["policy"] == {"limits": {"cpu": "5s"}} and skill["installed_at"] and skill["asks"] == "untrusted", skill
assert skill["module"]["imports"] == [{"module": "wasi_snapshot_preview1", "name": "fd_write"}], skill
assert skill["module"]["memories"] == [{"pages": 1, "most_pages": 4}], skill'
}

test_the_store_is_private() {
        (umask 0 && succeeds install hello) || return
        [ "$(find "$store" -printf '%m %y\n' | sort -u | tr '\n' ' ')" = "400 f 700 d " ] || {
                find "$store" -printf '%m %p\n'
                return 1
        }
}

test_a_skill_is_what_was_installed() {
        local file
        for file in module.wasm skill.yaml; do
                succeeds install hello && succeeds show hello || return
                chmod 600 "$store/hello/$file" && printf ' ' >>"$store/hello/$file" && chmod 400 "$store/hello/$file"
                refused 'was changed since it was installed; install it again' show hello || return
                succeeds list && says ' changed ' || return
        done
        # What is installed anew is good again, and the package's own files do not matter any more.
        succeeds install hello && rm -r hello && succeeds show hello
}

test_another_one_is_not_replaced_by_chance() {
        succeeds install hello && succeeds install hello && says 'already' || return
        manifest hello 'tier: untrusted'
        refused '--force replaces it' install hello && succeeds install hello --force && says 'in the place of another'
}

test_no_link_is_followed() {
        mv hello/hello.wasm . && ln -s ../hello.wasm hello/hello.wasm
        refused 'is a symbolic link' install hello || return
        rm hello/hello.wasm && mkdir real && mv hello.wasm real/ && ln -s ../real hello/in
        sed -i 's|^module: .*|module: in/hello.wasm|' hello/skill.yaml
        refused 'not a directory, or a symbolic link' install hello || return
        rm hello/in && mv real hello/in && succeeds install hello || return
        mv hello/skill.yaml . && ln -s ../skill.yaml hello/skill.yaml
        refused 'is a symbolic link' install --force hello || return
        # That the package itself is one is the user's own word.
        rm hello/skill.yaml && mv skill.yaml hello/ && ln -s hello link && succeeds install link
}

test_a_file_that_is_none_is_refused() {
        rm hello/hello.wasm && mkfifo hello/hello.wasm
        refused 'is not a regular file' install hello || return
        rm hello/hello.wasm
        refused 'does not exist' install hello || return
        truncate -s 65M hello/hello.wasm
        refused 'has more than' install hello || return
        cp "$T/scratch/hello.wasm" hello/ && succeeds install hello
}

test_a_mistake_is_named_with_its_place() {
        manifest hello 'polcy: {}'
        refused "hello/skill.yaml:5:1: unknown key 'polcy'; did you mean 'policy'?" install hello || return
        manifest hello 'policy: {filesystem: {raed: []}}'
        refused "hello/skill.yaml:5:23: unknown key 'raed' in filesystem" install hello || return
        manifest hello 'policy: {filesystem: {read: []}}'
        succeeds install hello
}

test_a_wrong_hash_is_refused() {
        manifest hello "sha256: $(sum hello/skill.yaml)"
        refused 'is not the module of the manifest' install hello || return
        manifest hello "sha256: $(sum hello/hello.wasm)"
        succeeds install hello
}

test_a_module_that_is_no_skill_is_refused() {
        cp "$T/scratch/library.wasm" hello/hello.wasm
        refused "exports no function '_start'" install hello || return
        cp "$T/scratch/foreign.wasm" hello/hello.wasm
        refused "'env.log', which is not allowed" install hello || return
        manifest hello 'imports: [env.log]'
        refused "'env.system', which is not allowed" install hello || return
        echo 'not a module' >hello/hello.wasm
        refused 'hello.wasm' install hello || return
        cp "$T/scratch/foreign.wasm" hello/hello.wasm
        manifest hello 'imports: ["env.*"]'
        succeeds install hello
}

# ---- tiers and signatures ------------------------------------------------------------------------------------

test_local_is_granted_by_the_user_only() {
        manifest hello 'tier: local'
        succeeds show ./hello && [[ $said == *"tier         untrusted"*"asks for     local"* ]] || {
                echo "a directory is not untrusted: $said"
                return 1
        }
        refused '--tier local' install hello &&
                succeeds install hello --tier untrusted && is_tier hello untrusted &&
                succeeds install --tier=local --force hello && is_tier hello local
}

test_verified_cannot_be_granted() {
        refused 'comes with a signature' install hello --tier verified &&
                refused 'cannot be granted' install hello --tier root &&
                succeeds install hello --tier local && is_tier hello local
}

new_key() { # NAME: $W/NAME.private, and a public one that is trusted
        openssl genpkey -algorithm ed25519 -out "$1.private" 2>/dev/null &&
                mkdir -p "$keys" && openssl pkey -in "$1.private" -pubout -out "$keys/$1.pem" && chmod 600 "$keys/$1.pem"
}

sign() { # PACKAGE KEY
        openssl pkeyutl -sign -rawin -inkey "$2.private" -in "$1/skill.yaml" -out "$1/skill.yaml.sig"
}

# W/hello asks for verified, and has it by the key alice.
signed() {
        manifest hello 'tier: verified' "sha256: $(sum hello/hello.wasm)"
        new_key alice && sign hello alice
}

test_a_good_signature_is_verified() {
        signed && succeeds install hello && says 'verified, signed by alice' && is_tier hello verified &&
                succeeds show hello && says 'signer       alice' || return
        # In base64 too, on one line, with an end or without.
        base64 -w 0 hello/skill.yaml.sig >text && mv text hello/skill.yaml.sig
        succeeds remove hello && succeeds install hello && is_tier hello verified || return
        echo >>hello/skill.yaml.sig
        succeeds remove hello && succeeds install hello && is_tier hello verified || return
        echo >>hello/skill.yaml.sig
        refused 'not an Ed25519 signature' install hello
}

test_another_key_is_not_trusted() {
        signed && new_key bob && rm "$keys/alice.pem"
        refused 'of none of the keys' install hello || return
        rm -r "$keys"
        refused 'there is no key' install hello || return
        # And with it again, beside the other.
        new_key bob && openssl pkey -in alice.private -pubout -out "$keys/alice.pem" && succeeds install hello && is_tier hello verified
}

flip() { # FILE BYTE: its lowest bit
        python3 -c '
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[int(sys.argv[2])] ^= 1
open(sys.argv[1], "wb").write(data)' "$1" "$2"
}

test_one_bit_is_enough() {
        local at
        signed && cp -r hello good
        for at in 0 31 32 63; do
                flip hello/skill.yaml.sig $at
                refused 'of none of the keys' install hello || return
                flip hello/skill.yaml.sig $at
        done
        sed -i 's/Says hello/Says hallo/' hello/skill.yaml
        refused 'of none of the keys' install hello || return
        cp good/skill.yaml hello/ && flip hello/hello.wasm 100
        refused 'is not the module of the manifest' install hello || return
        flip hello/hello.wasm 100 && diff -r good hello && succeeds install hello && is_tier hello verified
}

test_a_signature_is_of_one_manifest() {
        signed && mkdir other && cp hello/hello.wasm other/ && manifest other 'tier: verified' "sha256: $(sum hello/hello.wasm)"
        cp hello/skill.yaml.sig other/
        refused 'of none of the keys' install other && sign other alice && succeeds install other && is_tier other verified
}

test_a_signed_manifest_names_its_module() {
        signed && manifest hello 'tier: verified' && sign hello alice
        refused 'it has no sha256' install hello || return
        manifest hello 'tier: verified' "sha256: $(sum hello/hello.wasm)" && sign hello alice && succeeds install hello
}

test_a_claim_without_a_signature_is_refused() {
        signed && rm hello/skill.yaml.sig
        refused 'there is no skill.yaml.sig' install hello || return
        head -c 63 /dev/zero >hello/skill.yaml.sig
        refused 'not an Ed25519 signature' install hello || return
        head -c 64 /dev/zero >hello/skill.yaml.sig
        refused 'of none of the keys' install hello || return
        # The user may have it with less.
        succeeds install hello --tier untrusted && is_tier hello untrusted
}

test_keys_of_other_hands_are_refused() {
        signed && chmod 777 "$keys"
        refused 'can be written by others' install hello || return
        chmod 770 "$keys"
        refused 'can be written by others' install hello || return
        chmod 755 "$keys" && chmod 666 "$keys/alice.pem"
        refused 'can be written by others' install hello || return
        mv "$keys/alice.pem" . && chmod 600 alice.pem && ln -s "$W/alice.pem" "$keys/alice.pem"
        refused 'is a symbolic link' install hello || return
        rm "$keys/alice.pem" && mv alice.pem "$keys/" && succeeds install hello && is_tier hello verified
}

test_a_key_is_an_ed25519_key() {
        signed && echo 'not a key' >"$keys/broken.pem"
        # Which of them is asked first is not said: so the good one goes.
        mv "$keys/alice.pem" .
        refused "broken.pem' is not the PEM file of an Ed25519 public key" install hello || return
        openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 2>/dev/null | openssl pkey -pubout -out "$keys/broken.pem"
        refused "broken.pem' is not the PEM file of an Ed25519 public key" install hello || return
        cp alice.private "$keys/broken.pem"
        refused "broken.pem' is not the PEM file of an Ed25519 public key" install hello || return
        rm "$keys/broken.pem" && mv alice.pem "$keys/" && succeeds install hello
}

# Not by PATH, and not one that others can write.
test_who_verifies_is_ours() {
        local abatis=$W/bin/abatis
        signed && mkdir bin path && cp "$T/bin/abatis" "$T/bin/abatis-verify" bin/ && printf '#!/bin/sh\nexit 0\n' >path/abatis-verify && chmod 755 path/abatis-verify
        succeeds install hello && is_tier hello verified && succeeds remove hello || return
        rm bin/abatis-verify && flip hello/skill.yaml.sig 0
        if [ -e /usr/local/bin/abatis-verify ]; then
                PATH=$W/path:$PATH refused 'of none of the keys' install hello || return
        else
                PATH=$W/path:$PATH refused 'abatis-verify, which is not installed' install hello || return
        fi
        cp "$T/bin/abatis-verify" bin/ && chmod 777 bin/abatis-verify
        refused 'can be written by others' install hello
}

# A library that says yes in the place of abatis-verify is loaded by it, but not for us.
test_the_environment_does_not_verify() {
        signed && flip hello/skill.yaml.sig 0 || return
        gcc -shared -fPIC -o yes.so -x c - <<'END' || return
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void say_yes(void)
{
        if (!strcmp(program_invocation_short_name, "abatis-verify"))
                _exit(0);
}
END
        # With the sanitizers in the build, their own library would have to come first.
        local ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
        export ASAN_OPTIONS
        LD_PRELOAD=$W/yes.so "$T/bin/abatis-verify" "$keys/alice.pem" "$(base64 -w 0 hello/skill.yaml.sig)" <hello/skill.yaml || {
                echo "the library says nothing"
                return 1
        }
        LD_PRELOAD=$W/yes.so refused 'of none of the keys' install hello
}

# As a program of its own: 0 is good, 1 is bad, 2 is neither.
test_the_verifier_is_strict() {
        local good
        signed && good=$(base64 -w 0 hello/skill.yaml.sig)
        answers() { # CODE KEY SIGNATURE FILE
                "$T/bin/abatis-verify" "$2" "$3" <"$4" 2>/dev/null
                [ $? -eq "$1" ] || {
                        echo "not $1 for $2 $3 $4"
                        return 1
                }
        }
        answers 0 "$keys/alice.pem" "$good" hello/skill.yaml && answers 1 "$keys/alice.pem" "$good" hello/hello.wasm &&
                answers 1 "$keys/alice.pem" "$(head -c 64 /dev/zero | base64 -w 0)" hello/skill.yaml &&
                answers 2 "$keys/alice.pem" "$good=" hello/skill.yaml && answers 2 "$keys/alice.pem" "" hello/skill.yaml &&
                answers 2 "$keys/alice.pem" "$(head -c 65 /dev/zero | base64 -w 0)" hello/skill.yaml &&
                answers 2 alice.private "$good" hello/skill.yaml && answers 2 nowhere.pem "$good" hello/skill.yaml &&
                truncate -s 1048577 large && answers 2 "$keys/alice.pem" "$good" large
}

# ---- judging -------------------------------------------------------------------------------------------------

test_lint_tells_all() {
        succeeds lint hello && says 'nothing found' && succeeds lint hello/hello.wasm && says 'nothing found' || return
        cp "$T/scratch/foreign.wasm" hello/hello.wasm
        manifest hello 'tier: verified' 'imports: [env.log, env.missing]' 'policy: {filesystem: {write: [/srv], read: [all]}}'
        ! skill lint hello && says "'env.system', which is not allowed" && says "'env.missing' allows nothing" && says "needs the module's sha256" &&
                says 'needs a signature' && says "'/srv' lies outside" && says "'all' asks for everything" && [[ $said != *env.log* ]] || {
                echo "said: $said"
                return 1
        }
        [ "$(wc -l <<<"$said")" -eq 6 ] || return
        ! skill lint hello/hello.wasm && says 'env.log' && says 'env.system' || return
        manifest hello 'policy: {network: {mode: allow}}' 'imports: ["env.*"]'
        ! skill lint hello && says 'the tier untrusted has no network' || return
        manifest hello 'nam: x'
        ! skill lint hello && says "hello/skill.yaml:5:1: unknown key 'nam'" || return
        skill lint nowhere
        [ $? -eq 125 ]
}

test_usage_is_said() {
        refused 'usage: abatis skill show' show && refused 'usage: abatis skill install' install hello other &&
                refused 'usage: abatis skill list' list --force && refused 'usage: abatis skill install' install --tier &&
                refused "unknown word 'instal'" instal hello && refused "is no name of a skill" remove ../hello && succeeds --help
}

# ---- what happens meanwhile ----------------------------------------------------------------------------------

calls=mkdirat,openat,write,fchmod,fdatasync,renameat,renameat2,unlinkat

# At each call that could leave something behind: there is the old one or the new one, whole, and nothing else.
test_killed_at_any_moment_it_leaves_a_skill_or_none() {
        local when out killed=0
        for when in $(seq 1 60); do
                rm -rf "$HOME/.local"
                strace -qq -o /dev/null -e trace=$calls -e inject=$calls:signal=KILL:when="$when" "$abatis" skill install hello >/dev/null 2>&1
                out=$?
                skill list || return
                [ "$out" -eq 137 ] || break
                killed=$((killed + 1))
                [ -z "$said" ] || [[ $said == *' ok '* && $said != *$'\n'* ]] || {
                        echo "killed at $when: $said"
                        return 1
                }
                succeeds install hello && is_tier hello untrusted || return
        done
        [ "$out" -eq 0 ] && [ "$killed" -gt 10 ] || echo "killed $killed times, and then $out"
        [ "$out" -eq 0 ] && [ "$killed" -gt 10 ]
}

test_killed_at_any_moment_a_replacement_is_whole() {
        local when out killed=0
        cp -r hello other && manifest other && sed -i 's/^name: .*/name: hello/; s/"1.0"/"2.0"/' other/skill.yaml
        for when in $(seq 1 60); do
                rm -rf "$HOME/.local"
                succeeds install hello || return
                strace -qq -o /dev/null -e trace=$calls -e inject=$calls:signal=KILL:when="$when" "$abatis" skill install --force other >/dev/null 2>&1
                out=$?
                skill list || return
                [[ $said =~ ^hello\ +[12]\.0\ +untrusted\ +ok && $said != *$'\n'* ]] || {
                        echo "killed at $when: $said"
                        return 1
                }
                [ "$out" -eq 137 ] || break
                killed=$((killed + 1))
        done
        [ "$out" -eq 0 ] && [ "$killed" -gt 10 ] || echo "killed $killed times, and then $out"
        [ "$out" -eq 0 ] && [ "$killed" -gt 10 ]
}

test_where_names_cannot_be_exchanged_it_is_replaced_too() {
        cp -r hello other && sed -i 's/"1.0"/"2.0"/' other/skill.yaml
        succeeds install hello || return
        strace -qq -o /dev/null -e trace=renameat2 -e inject=renameat2:error=EINVAL "$abatis" skill install --force other >/dev/null || return
        succeeds list && says ' 2.0 ' && [ "$(find "$store" -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ]
}

test_what_fails_leaves_nothing() {
        local call
        for call in mkdirat fdatasync renameat; do
                rm -rf "$HOME/.local"
                mkdir -p "$store" && chmod 700 "$store"
                ! strace -qq -o /dev/null -e trace=$call -e inject=$call:error=ENOSPC "$abatis" skill install hello 2>/dev/null &&
                        [ -z "$(find "$store" -mindepth 1)" ] || {
                        echo "after $call: $(find "$store" -mindepth 1)"
                        return 1
                }
        done
        succeeds install hello
}

# ---- from inside ---------------------------------------------------------------------------------------------

# What a command in a sandbox does to the store of its user, who works in the home.
inside() { # COMMAND
        timeout -s KILL 20 "$abatis" run --preset dev --workspace "$HOME" -- sh -c "$1" </dev/null 2>/dev/null
}

test_a_command_inside_cannot_change_the_store() {
        local attempt here=$HOME/.local/share/abatis
        succeeds install hello && mkdir -p "$HOME/forged/evil" || return
        inside "echo x >'$HOME/.local/share/other'" || {
                echo "nothing can be written at all"
                return 1
        }
        for attempt in "echo x >'$here/skills/new'" "mkdir '$here/skills/evil'" "mv '$HOME/forged/evil' '$here/skills/evil'" \
                "rm -rf '$here/skills/hello'; test ! -e '$here/skills/hello'" "mv '$here/skills/hello' '$HOME/x'" "chmod 600 '$here/skills/hello/module.wasm'" \
                "mv '$here/skills' '$HOME/x'" "mv '$here' '$HOME/x'" "mv '$HOME/.local/share' '$HOME/x'" "ln '$here/skills/hello/module.wasm' '$HOME/x'"; do
                if inside "$attempt"; then
                        echo "inside, this can be done: $attempt"
                        return 1
                fi
                is_tier hello untrusted || return
        done
        # The control: the same store, when the user himself does it.
        chmod 600 "$store/hello/module.wasm" && is_tier hello changed
}

test_a_store_in_the_workspace_is_kept_too() {
        export XDG_DATA_HOME=$HOME/project/data
        store=$XDG_DATA_HOME/abatis/skills
        mkdir -p "$HOME/project" && succeeds install hello || return
        timeout -s KILL 20 "$abatis" run --workspace "$HOME/project" -- sh -c "echo x >'$XDG_DATA_HOME/x'" </dev/null || return
        ! timeout -s KILL 20 "$abatis" run --workspace "$HOME/project" -- sh -c "mkdir '$store/evil'" </dev/null 2>/dev/null && is_tier hello untrusted
}

# --------------------------------------------------------------------------------------------------------------

if ! command -v wat2wasm >/dev/null; then
        skip packages_are_tried "there is no wat2wasm (wabt)"
        echo "$passed passed, $failed failed, $skipped skipped"
        exit 0
fi
for name in hello foreign library; do
        wat2wasm "$T/test/$name.wat" -o "$T/scratch/$name.wasm" || exit 1
done
signatures=" a_good_signature_is_verified another_key_is_not_trusted one_bit_is_enough a_signature_is_of_one_manifest a_key_is_an_ed25519_key
        a_signed_manifest_names_its_module a_claim_without_a_signature_is_refused keys_of_other_hands_are_refused who_verifies_is_ours
        the_environment_does_not_verify the_verifier_is_strict "
kills=" killed_at_any_moment_it_leaves_a_skill_or_none killed_at_any_moment_a_replacement_is_whole where_names_cannot_be_exchanged_it_is_replaced_too
        what_fails_leaves_nothing "
for test in $(compgen -A function test_); do
        name=${test#test_}
        wants "$name" || continue
        if [[ $signatures == *[[:space:]]"$name"[[:space:]]* ]] && { [ ! -e "$T/bin/abatis-verify" ] || ! command -v openssl >/dev/null; }; then
                skip "$name" "no abatis-verify was built, or there is no openssl"
                continue
        fi
        if [[ $kills == *[[:space:]]"$name"[[:space:]]* ]] && ! strace -qq -o /dev/null true 2>/dev/null; then
                skip "$name" "strace cannot trace here"
                continue
        fi
        why=$(enter && "$test" 2>&1)
        check "$name" $? "${why//$'\n'/; }"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
