#!/bin/bash
# recipes.sh: a part of run.sh: what docs/agents says is done, with the agents and libraries from npm (cli/, sdk/; script/fetch.sh), as an
# ordinary user. Without them, the rest is run, and skips say so.
set -u
cd "$(dirname "$0")" || exit 1
repo=$(cd ../.. && pwd)
PATTERN='*'
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh
readonly ORDINARY_UID=4343
ABATIS=${ABATIS:-$repo/build/abatis}
ID=$ORDINARY_UID
((EUID)) && ID=$EUID

T=$(mktemp -d /var/tmp/abatis-recipes.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
chmod 755 "$T"
mkdir "$T/bin" "$T/test" "$T/home" "$T/scratch" "$T/clients" "$T/cli" "$T/sdk"
cp recipes.py model.py "$T/test" && cp -r "$repo/docs/agents" "$T/docs" && cp -r "$repo/clients/python" "$T/clients" &&
        "${CC:-cc}" -O1 -Wall -o "$T/bin/enter" ../tree/enter.c &&
        cp "$ABATIS" "$T/bin/abatis" && ln "$T/bin/abatis" "$T/bin/abatis-sh" || exit 1

# An agent that is on no account, asked without a terminal: what AGENT_ARGUMENTS says is put to what a page has, unless a page asks for a list.
# shellcheck disable=SC2016 # its words are the program's
agent() { # NAME COMMAND...: as a program in the PATH
        printf '#!/bin/bash\ncase $1 in mcp) set -- "$@" ;; *) set -- "$@" $AGENT_ARGUMENTS ;; esac\nexec %s "$@"\n' "${*:2}" >"$T/bin/$1"
        chmod 755 "$T/bin/$1"
}
NODE=$(command -v node) && [ "$("$NODE" -p 'process.versions.node.split(".")[0]')" -ge 20 ] || NODE=
NODE=${NODE:+$("$NODE" -p process.execPath)}
if [ -n "$NODE" ] && [ "$EUID" -eq 0 ] && ! setpriv --reuid="$ID" --regid="$ID" --clear-groups test -x "$NODE"; then
        cp "$NODE" "$T/bin/node" && NODE=$T/bin/node
fi
bring() { # DIRECTORY: node_modules of its package-lock.json
        local place
        place=$("$repo/script/fetch.sh" node "$1" 2>"$T/why") || return
        cp -al "$place/node_modules" "$T/$1/" 2>/dev/null || cp -a "$place/node_modules" "$T/$1/"
}
if [ -n "$NODE" ]; then
        # The libraries work without the copy of Claude Code that one of them would bring: it is that of cli/.
        npm_config_omit=optional bring sdk && cp -r "$repo/clients/node" "$T/sdk/node_modules/abatis"
        bring cli
        agent codex "$NODE" "$T/cli/node_modules/@openai/codex/bin/codex.js"
        agent gemini "$NODE" "$T/cli/node_modules/@google/gemini-cli/bundle/gemini.js"
        for program in "$T"/cli/node_modules/@anthropic-ai/claude-code-linux-*/claude; do
                agent claude "$program"
        done
fi
chmod -R a+rX "$T/bin" "$T/test" "$T/docs" "$T/clients"
((EUID)) || chown "$ID:$ID" "$T/home" "$T/scratch" "$T/sdk" "$T"

for mode in ${MODES:-user none}; do
        take "recipes_$mode" env RECIPES_TOP="$T" MODE="$mode" NODE="$NODE" "$T/bin/enter" "$ID" "$mode" /usr/bin/env \
                /usr/bin/python3 -B "$T/test/recipes.py" "$@"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
