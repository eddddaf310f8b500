# lib.sh: the world in which test skills try to get out, and the engines that run them without any sandbox. To be sourced; T is a scratch
# directory, and MODULES where build.sh left its modules.
# shellcheck shell=bash disable=SC2154 # whoever sources it has T and MODULES

# T/world: inside/, which a skill may write, second/, which it may read, outside/, which it was not given. Made anew for each attempt.
make_world() {
        local world=$T/world
        chmod -R u+rwx "$world" 2>/dev/null
        rm -rf "$world"
        mkdir -p "$world"/inside/sub/deep "$world"/second "$world"/outside/empty
        echo 'SECRET of outside' >"$world/outside/secret.txt"
        echo 'given' >"$world/second/given.txt"
        echo 'own' >"$world/inside/own.txt"
        ln -s secret.txt "$world/outside/link"
        ln -s ../outside "$world/inside/out"
        ln -s ../outside/secret.txt "$world/inside/file"
        ln -s "$world/outside" "$world/inside/absolute"
        ln -s sub/hop "$world/inside/chain"
        ln -s ../../outside "$world/inside/sub/hop"
        ln -s ../.. "$world/inside/sub/up"
        ln -s ../outside/dangling.txt "$world/inside/dangling"
        ln -s own.txt "$world/inside/own-link"
        ln -s /proc/self "$world/inside/proc"
        ln -s /dev "$world/inside/dev"
        ln -s / "$world/inside/root"
        # Old, so that a change of their times is seen.
        find "$world" -exec touch -h -d '2001-02-03 04:05:06' {} +
}

# All that can be changed of what a skill may not change. Not when it was read.
print_outside() {
        (cd "$T/world" && find outside second -printf '%p %y %m %s %n %T@ %l\n' | sort && find outside second -type f -exec sha256sum {} +)
}

# One of the engines, with the world's directories: native, walk (native, without the kernel's help), wazero, node. For SECONDS_LEFT, or a
# minute.
run_engine() { # ENGINE MODULE [ARGUMENT...]
        local engine=$1 module=$2 world=$T/world
        shift 2
        case $engine in
        native | walk)
                timeout -s KILL "${SECONDS_LEFT:-60}" env -i A=1 B='two words' "$T/$engine/$module/program" --write "$world/inside" /in --read "$world/second" /second -- "$module.wasm" "$@"
                ;;
        wazero)
                timeout -s KILL "${SECONDS_LEFT:-60}" "$WAZERO" run -mount="$world/inside:/in" -mount="$world/second:/second:ro" -env=A=1 -env='B=two words' "$MODULES/$module.wasm" "$@"
                ;;
        node)
                timeout -s KILL "${SECONDS_LEFT:-60}" node --no-warnings "$here/node.mjs" "$MODULES/$module.wasm" "$world/inside" "$world/second" "$@"
                ;;
        esac
}
