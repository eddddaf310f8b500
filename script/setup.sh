#!/bin/sh
# setup.sh: installs what building, testing, measuring or checking abatis needs and this machine does not have yet.
#
#   script/setup.sh [build|demo|test|skill|browser|net|bench|peers|lint|cross|wine|kernel]...        (default: build)
#
# Nothing is printed and nothing is run when everything is there, so the Makefile can call it every time.
# What is missing is installed with apt-get, as root or through sudo; where neither works, the list is
# printed and the exit code is 1. POSIX sh, because a bare machine may have no other shell.
set -eu

usage="usage: script/setup.sh [build|demo|test|skill|browser|net|bench|peers|lint|cross|wine|kernel]..."

say() {
        printf 'setup: %s\n' "$*" >&2
}

# One line for each need: the package (its Debian and Ubuntu name), how to see that it is there, what to see.
#   command X    the program X is in PATH
#   wish X       the same, but the build can do without: wanted only where apt-get can bring it
#   hope X       as module, and the build can do without
#   module X     pkg-config knows the library X; where pkg-config is missing too, the header after the comma exists
#   file X       the file X exists
#   target X     clang has what programs for X are linked with
#   python X     Debian's Python can import X
#   compiler     any C compiler under its usual name
needs_build="
gcc              compiler   -
libc6-dev        file       /usr/include/stdio.h
make             command    make
meson            command    meson
ninja-build      command    ninja
pkg-config       command    pkg-config
libjansson-dev   module     jansson,jansson.h
libyaml-dev      module     yaml-0.1,yaml.h
python3          command    python3
musl-tools       wish       musl-gcc
libssl-dev       hope       libcrypto,openssl/evp.h
"
# A Mac has its C library's headers elsewhere.
[ "$(uname)" != Darwin ] || needs_build=$(printf '%s\n' "$needs_build" | grep -v '^libc6-dev ')
needs_demo="
git              command    git
python3          command    python3
"
needs_test="
git              command    git
gcc              command    gcc
g++              command    g++
clang            command    clang
binutils         command    nm
libseccomp-dev   module     libseccomp,seccomp.h
libcmocka-dev    module     cmocka,cmocka.h
libuv1-dev       module     libuv,uv.h
python3          file       /usr/bin/python3
patchelf         command    patchelf
python3-jsonschema python   jsonschema
python3-setuptools python   setuptools
python3-wheel    python     wheel
nodejs           command    node
npm              command    npm
strace           command    strace
gdb              command    gdb
valgrind         command    valgrind
util-linux       command    setpriv
bsdutils         command    script
sqlite3          command    sqlite3
procps           command    ps
bubblewrap       command    bwrap
lld              command    wasm-ld
wasi-libc        file       /usr/lib/wasm32-wasi/libc.a
libclang-rt-dev-wasm32 target wasm32-wasi
wabt             command    wasm2c
openssl          command    openssl
"
# An engine for WebAssembly that the release has; the other one is below.
needs_skill="
nodejs           command    node
"
# Some hundred megabytes for two tests: only a change that is to land is asked to bring them.
needs_browser="
chromium-headless-shell command chromium-headless-shell
"
# The clients of test/net, which are tried if they are there. Some two hundred megabytes, most of them Java's and Go's.
needs_net="
util-linux       command    setpriv
openssl          command    openssl
curl             command    curl
wget             command    wget
git              command    git
npm              command    npm
nodejs           command    node
python3-pip      file       /usr/bin/pip3
python3-requests python     requests
default-jdk-headless command javac
golang-go        command    go
musl-tools       command    musl-gcc
busybox-static   command    busybox
bind9-dnsutils   command    dig
netcat-openbsd   command    nc
socat            command    socat
perl             command    perl
ruby             command    ruby
"
# What the benchmark measures abatis against, besides bubblewrap. Some hundred megabytes, so only for who asks.
needs_peers="
firejail         command    firejail
crun             command    crun
socat            command    socat
ripgrep          command    rg
npm              command    npm
"
needs_lint="
git              command    git
gcc              command    gcc
clang            command    clang
clang-format     command    clang-format
clang-tidy       command    clang-tidy
cppcheck         command    cppcheck
shellcheck       command    shellcheck
"
# The other architecture's compiler, and Windows'; for macOS a linker, and what brings the compiler (script/fetch.sh).
case $(uname -m) in
aarch64) other=x86_64 package=x86-64 arch=amd64 ;;
*) other=aarch64 package=aarch64 arch=arm64 ;;
esac
needs_cross="
gcc-$package-linux-gnu     command $other-linux-gnu-gcc
libc6-dev-$arch-cross      file    /usr/$other-linux-gnu/include/stdio.h
lld              command    ld.lld
gcc-mingw-w64-x86-64-win32 command x86_64-w64-mingw32-gcc
npm              command    npm
"
# What runs programs for Windows. Some hundred megabytes, for one suite.
needs_wine="
wine64           file       /usr/lib/wine/wineserver64
wine             command    wine
"
needs_kernel="
qemu-system-arm  command    qemu-system-aarch64
qemu-system-x86  command    qemu-system-x86_64
cpio             command    cpio
"

has() { # HOW WHAT
        case $1 in
        command) command -v "$2" >/dev/null 2>&1 ;;
        wish) command -v "$2" >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1 ;;
        file) [ -e "$2" ] ;;
        target) [ -e "$(clang --target="$2" --rtlib=compiler-rt -print-libgcc-file-name 2>/dev/null)" ] ;;
        python) /usr/bin/python3 -c "import $2" >/dev/null 2>&1 ;;
        hope) has module "$2" || ! command -v apt-get >/dev/null 2>&1 ;;
        module)
                if command -v pkg-config >/dev/null 2>&1; then
                        pkg-config --exists "${2%,*}"
                else
                        [ -e "/usr/include/${2#*,}" ]
                fi
                ;;
        compiler)
                command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 ||
                        command -v clang >/dev/null 2>&1
                ;;
        esac
}

# Prints the packages that are missing, one line each with what was looked for.
list_missing() { # NEEDS
        printf '%s' "$1" | while read -r package how what; do
                [ -n "$package" ] || continue
                has "$how" "$what" || case $how in
                command | wish) printf '%s the program %s\n' "$package" "$what" ;;
                module | hope) printf '%s the library %s with its headers\n' "$package" "${what%,*}" ;;
                file) printf '%s the file %s\n' "$package" "$what" ;;
                target) printf '%s what programs for %s are linked with\n' "$package" "$what" ;;
                python) printf '%s the Python module %s\n' "$package" "$what" ;;
                compiler) printf '%s a C compiler, gcc or clang\n' "$package" ;;
                esac
        done
}

names_of() { # LINES
        printf '%s\n' "$1" | while read -r package _; do printf '%s\n' "$package"; done | sort -u | paste -s -d ' ' -
}

# The machine cannot be set up from here: say exactly what is missing, and stop.
give_up() { # WHY
        say "these are missing, and $1:"
        printf '%s\n' "$missing" | while read -r package what; do
                printf '         %-16s %s\n' "$package" "$what" >&2
        done
        say "on Debian 12 or newer, or Ubuntu 22.04 or newer, this installs them:"
        say "  apt-get install --no-install-recommends $(names_of "$missing")"
        say "on macOS, brew install meson ninja pkg-config jansson libyaml does;"
        say "elsewhere, install what carries the same programs and libraries, then run this again."
        exit 1
}

# Sets `become` to what must stand before a command to run it as root.
find_root() {
        become=
        [ "$(id -u)" -ne 0 ] || return 0
        command -v sudo >/dev/null 2>&1 || give_up "this is neither root nor a machine with sudo"
        if sudo -n true 2>/dev/null; then
                become="sudo -n"
        elif [ -t 0 ]; then
                become=sudo
        else
                give_up "sudo wants a password and there is no terminal to ask for it"
        fi
}

# Another apt (a fresh machine's automatic upgrades) may hold the lock: wait for it instead of failing.
apt() { # ARG...
        # shellcheck disable=SC2086 # $become is a command and its flag, or nothing
        $become env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
                apt-get -o DPkg::Lock::Timeout=300 -q -y "$@" </dev/null >>"$log" 2>&1
}

install_missing() {
        find_root
        log=$(mktemp)
        trap 'rm -f "$log"' EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM
        packages=$(names_of "$missing")
        say "installing with apt-get${become:+ (through sudo)}: $packages"
        if [ "$become" = sudo ]; then
                sudo -v || give_up "sudo was refused"
        fi
        # One broken source among many fails the whole update, yet the lists that count may be there.
        apt update || say "apt-get update failed; trying with the package lists at hand"
        # shellcheck disable=SC2086 # one word for each package
        if ! apt install --no-install-recommends $packages; then
                tail -n 15 "$log" >&2
                give_up "apt-get could not install them (its last words are above)"
        fi
}

needs='' wants_peers='' wants_wazero=''
for name in "${@:-build}"; do
        case $name in
        build) needs="$needs$needs_build" ;;
        demo) needs="$needs$needs_build$needs_demo" ;;
        test) needs="$needs$needs_build$needs_test" ;;
        skill)
                needs="$needs$needs_skill"
                wants_wazero=true
                ;;
        browser) needs="$needs$needs_browser" ;;
        net) needs="$needs$needs_build$needs_net" ;;
        bench) needs="$needs$needs_build$needs_test" ;;
        peers)
                needs="$needs$needs_build$needs_test$needs_peers"
                wants_peers=true
                ;;
        lint) needs="$needs$needs_build$needs_lint" ;;
        cross) needs="$needs$needs_build$needs_cross" ;;
        wine) needs="$needs$needs_build$needs_cross$needs_wine" ;;
        kernel) needs="$needs$needs_build$needs_cross$needs_kernel" ;;
        -h | --help)
                echo "$usage"
                exit 0
                ;;
        *)
                say "unknown set '$name'; $usage"
                exit 2
                ;;
        esac
done

missing=$(list_missing "$needs")
if [ -n "$missing" ]; then
        command -v apt-get >/dev/null 2>&1 || give_up "this system has no apt-get to install them with"
        install_missing
        missing=$(list_missing "$needs")
        [ -z "$missing" ] || give_up "apt-get installed their packages without bringing them"
fi

# wazero, the engine that starts fastest, came after Debian 12: one package of a megabyte and a half that needs nothing but the C
# library. apt checks its signature and what it depends on; no other package of that release becomes visible to this machine.
if [ "$wants_wazero" ] && ! command -v wazero >/dev/null 2>&1; then
        find_root
        log=$(mktemp)
        trap 'rm -f "$log"' EXIT
        package=$("$(dirname "$0")/fetch.sh" package "$(dpkg --print-architecture)/forky" wazero) ||
                { say "there is no wazero for this machine; node serves"; exit 0; }
        say "installing with apt-get${become:+ (through sudo)}: ${package##*/}"
        apt install --no-install-recommends "$package" || { tail -n 15 "$log" >&2; say "wazero cannot be installed; node serves"; }
fi

# Where bench/run.sh looks for them.
if [ "$wants_peers" ]; then
        peers=$(dirname "$0")/../build/peers
        mkdir -p "$peers"
        npm install --no-audit --no-fund --silent --prefix "$peers" @anthropic-ai/sandbox-runtime @openai/codex
fi
