#!/bin/sh
# Lays out, below a directory, what the benchmark works on: trees.sh DIR PART
set -eu

dir=$1
part=$2

# A home as a developer has it: the secrets that the default policy masks among forty ordinary entries.
mkdir -p "$dir/home" "$dir/workspace"
cd "$dir/home"
mkdir -p .ssh .gnupg .aws .config/gh .cache .local/share
chmod 700 .ssh .gnupg .aws
for secret in .ssh/id_ed25519 .gnupg/pubring.kbx .aws/credentials .config/gh/hosts.yml .netrc; do
        echo "not a real secret" >"$secret"
        chmod 600 "$secret"
done
for file in .bashrc .profile .bash_aliases .gitconfig .vimrc .inputrc; do
        echo "# $file" >"$file"
done
i=0
while [ $i -lt 20 ]; do
        mkdir -p "project-$i"
        echo "note $i" >"note-$i.txt"
        i=$((i + 1))
done
echo 'int main(void) { return 0; }' >"$dir/workspace/main.c"

ln -s workspace "$dir/link"

# What peers are told by a file.
mkdir "$dir/bundle" "$dir/crun"
cat >"$dir/bundle/config.json" <<EOF
{ "ociVersion": "1.0.2",
  "process": { "user": { "uid": $(id -u), "gid": $(id -g) }, "args": [ "$dir/bin/true" ], "cwd": "$dir/workspace",
               "env": [ "PATH=/usr/bin:/bin" ], "capabilities": {}, "noNewPrivileges": true },
  "root": { "path": "/", "readonly": true },
  "mounts": [ { "destination": "/proc", "type": "proc", "source": "proc" },
              { "destination": "/tmp", "type": "tmpfs", "source": "tmpfs" },
              { "destination": "$dir/workspace", "type": "bind", "source": "$dir/workspace", "options": [ "bind", "rw" ] } ],
  "linux": { "uidMappings": [ { "containerID": $(id -u), "hostID": $(id -u), "size": 1 } ],
             "gidMappings": [ { "containerID": $(id -g), "hostID": $(id -g), "size": 1 } ],
             "namespaces": [ { "type": "user" }, { "type": "pid" }, { "type": "ipc" }, { "type": "mount" }, { "type": "network" } ] } }
EOF
cat >"$dir/srt.json" <<EOF
{ "network": { "allowedDomains": [], "deniedDomains": [] },
  "filesystem": { "denyRead": [ "$dir/home/.ssh", "$dir/home/.gnupg", "$dir/home/.aws", "$dir/home/.config/gh", "$dir/home/.netrc" ],
                  "allowWrite": [ "$dir/workspace" ], "denyWrite": [] } }
EOF

# Sizes of the repository: a launch and a check need only that it is one, the overhead part 3,000 files.
case $part in launch | check) per_dir=1 ;; *) per_dir=50 ;; esac
awk -v dir="$dir/repository" -v per_dir="$per_dir" 'BEGIN {
        for (d = 0; d < 60; d++) {
                system("mkdir -p " dir "/src/module-" d)
                for (f = 0; f < per_dir; f++) {
                        name = dir "/src/module-" d "/file-" f ".txt"
                        for (l = 0; l < 20; l++)
                                print "line", l, "of file", f, "in module", d >name
                        close(name)
                }
        }
}'
cd "$dir/repository"
# Older than the index, or git would read every file again each time.
find . -type f -exec touch -d '2 hours ago' {} +
export HOME="$dir/home" GIT_CONFIG_NOSYSTEM=1
git -c init.defaultBranch=main init -q .
git add .
git -c user.name=bench -c user.email=bench@example.org commit -q -m "the tree that git status looks at"

case $part in launch | check) exit 0 ;; esac

awk -v dir="$dir" 'BEGIN {
        # Sixty small C files and a makefile.
        project = dir "/project"
        system("mkdir -p " project)
        makefile = project "/Makefile"
        printf "CFLAGS = -O1 -Wall\nOBJECTS =" >makefile
        for (i = 0; i < 60; i++)
                printf " part%d.o", i >makefile
        printf " main.o\nprogram: $(OBJECTS)\n\t$(CC) -o $@ $(OBJECTS)\n" >makefile
        close(makefile)
        for (i = 0; i < 60; i++) {
                file = project "/part" i ".c"
                print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>" >file
                for (f = 0; f < 2; f++) {
                        printf "int part%d_%d(const char *text, int n);\n", i, f >file
                        printf "int part%d_%d(const char *text, int n)\n{\n", i, f >file
                        print "        char buffer[64];\n        int sum = 0;" >file
                        print "        for (int k = 0; k < n; k++)" >file
                        printf "                sum += text[k %% (int)strlen(text)] * %d;\n", i + f >file
                        print "        snprintf(buffer, sizeof buffer, \"%d\", sum);" >file
                        print "        return atoi(buffer) + sum;\n}" >file
                }
                close(file)
        }
        file = project "/main.c"
        for (i = 0; i < 60; i++)
                printf "int part%d_0(const char *text, int n);\n", i >file
        print "int main(void)\n{\n        int sum = 0;" >file
        for (i = 0; i < 60; i++)
                printf "        sum += part%d_0(\"abatis\", %d);\n", i, i >file
        print "        return sum == 0;\n}" >file
        close(file)

        # Twenty thousand files that find looks at.
        for (d = 0; d < 200; d++) {
                system("mkdir -p " dir "/tree/a" (d % 10) "/b" d)
                for (f = 0; f < 100; f++) {
                        file = dir "/tree/a" (d % 10) "/b" d "/file-" f
                        print f >file
                        close(file)
                }
        }
        print "the oldest" >(dir "/tree/first")

        # Fifty MB of words that grep reads.
        system("mkdir -p " dir "/text")
        for (f = 0; f < 500; f++) {
                file = dir "/text/file-" f
                for (l = 0; l < 1800; l++)
                        print "line", l, "of", f, "a quick brown fox jumps over the lazy dog" >file
                if (f % 50 == 0)
                        print "here is a needle" >file
                close(file)
        }
}'

# What a package manager unpacks: two thousand small files in two hundred directories.
mkdir -p "$dir/packages"
awk -v dir="$dir/unpacked/node_modules" 'BEGIN {
        for (p = 0; p < 200; p++) {
                system("mkdir -p " dir "/package-" p "/lib")
                for (f = 0; f < 10; f++) {
                        name = dir "/package-" p "/lib/file-" f ".js"
                        for (l = 0; l < 20; l++)
                                print "module.exports.f" l " = () => " l ";" >name
                        close(name)
                }
        }
}'
tar -C "$dir/unpacked" -cf "$dir/packages.tar" node_modules
rm -r "$dir/unpacked"
