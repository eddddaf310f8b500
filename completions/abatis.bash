# abatis.bash: completes the verbs, flags and values of abatis in bash.
#
# Installed as share/bash-completion/completions/abatis; works without the bash-completion package too, which is
# only used, where it is there, to complete the command inside as if it stood alone.
# shellcheck shell=bash

_abatis_paths() { # -f|-d
        local word=${COMP_WORDS[COMP_CWORD]}
        # Without this, readline would put a space after a directory and would not quote what needs it.
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen "$1" -- "${word#=}")
}

_abatis_words() { # WORD...
        local word=${COMP_WORDS[COMP_CWORD]}
        mapfile -t COMPREPLY < <(compgen -W "$*" -- "${word#=}")
}

_abatis_profiles() {
        local names
        names=$(abatis profile list 2>/dev/null | while read -r name _; do printf '%s ' "$name"; done)
        _abatis_words "$names"
}

_abatis_value() { # FLAG
        case $1 in
        --preset) _abatis_words dev tool mcp strict guard skill ;;
        --profile) _abatis_profiles ;;
        --tier) _abatis_words local verified untrusted ;;
        --net) _abatis_words deny unix-only allow list ;;
        --workspace | --data) _abatis_paths -d ;;
        --policy | --config | --read | --write | --exec | --deny | --protect | --unix) _abatis_paths -f ;;
        --command) mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]#=}") ;;
        --env) mapfile -t COMPREPLY < <(compgen -e -- "${COMP_WORDS[COMP_CWORD]#=}") ;;
        --timeout | --cpu) _abatis_words 10s 30s 5m 1h ;;
        --since | --until) _abatis_words 30m 2h 1d 7d ;;
        --verdict) _abatis_words ok failed refused timeout limit running ;;
        --file | --output | --audit-log | -o) _abatis_paths -f ;;
        --max-output | --file-size | --written | --memory | --traffic) _abatis_words 1MiB 64MiB 512MiB 2GiB ;;
        esac
}

# Finds where the command inside begins (0 when it has not begun yet) and the flag whose value is being typed.
# Readline splits --flag=value into three words, so that an = between two words belongs to the flag before it.
_abatis_parse() {
        local i
        abatis_command=0 abatis_flag=
        for ((i = 2; i < COMP_CWORD; i++)); do
                abatis_flag=
                case ${COMP_WORDS[i]} in
                --)
                        abatis_command=$((i + 1))
                        return
                        ;;
                --json | --merge | --pty | --watch-net | --best-effort | --no-audit | --no-loopback | --revoke | --force | --undo | --yes | --dry-run | --help) ;;
                -*)
                        abatis_flag=${COMP_WORDS[i]}
                        [[ ${COMP_WORDS[i + 1]-} == = ]] && ((i++))
                        ((i++))
                        ((i < COMP_CWORD)) && abatis_flag=
                        ;;
                *)
                        # The words of these stand among their flags.
                        [[ ${COMP_WORDS[1]} == @(check|policy|profile|skill|audit) ]] && continue
                        abatis_command=$i
                        return
                        ;;
                esac
        done
}

_abatis() {
        local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]-}
        local policy="--preset --profile --policy --workspace --data --config --read --write --exec --deny --deny-glob --protect --net
                --connect --bind --unix --backend --no-loopback --no-verify-sni --command --env --timeout --max-output --open-files --file-size --written
                --processes --memory --cpu --connections --connections-per-second --traffic --audit-log --no-audit --help"
        local abatis_command abatis_flag
        COMPREPLY=()

        if ((COMP_CWORD == 1)); then
                _abatis_words run sh explain check serve exec-request mcp mcp-wrap hook policy profile trust skill audit doctor --version --help
                return
        fi
        _abatis_parse
        if [[ -n $abatis_flag ]]; then
                _abatis_value "$abatis_flag"
                return
        fi
        case $verb in
        run | explain)
                if ((abatis_command && COMP_CWORD > abatis_command)); then
                        if declare -F _command_offset >/dev/null; then
                                _command_offset "$abatis_command"
                        else
                                _abatis_paths -f
                        fi
                elif ((abatis_command == 0)) && [[ $word == -* ]]; then
                        [[ $verb == run ]] && policy+=" --merge --pty --watch-net --result-fd --context"
                        [[ $verb == explain ]] && policy+=" --tier --tiers"
                        _abatis_words "$policy" --best-effort --json --
                else
                        compopt -o filenames 2>/dev/null
                        mapfile -t COMPREPLY < <(compgen -c -- "$word" | sort -u)
                fi
                ;;
        check)
                if ((COMP_CWORD == 2)); then
                        _abatis_words read write execute --help
                elif [[ $word == -* ]]; then
                        _abatis_words "$policy"
                else
                        _abatis_paths -f
                fi
                ;;
        policy)
                if ((COMP_CWORD == 2)); then
                        _abatis_words show lint convert schema --help
                elif [[ $word == -* ]]; then
                        case ${COMP_WORDS[2]} in
                        show) _abatis_words "$policy" --json ;;
                        lint) _abatis_words "$policy" ;;
                        esac
                elif [[ ${COMP_WORDS[2]} == convert ]]; then
                        _abatis_paths -f
                fi
                ;;
        profile)
                if ((COMP_CWORD == 2)); then
                        _abatis_words list show lint --help
                elif ((COMP_CWORD == 3)) && [[ ${COMP_WORDS[2]} == @(show|lint) ]]; then
                        _abatis_profiles
                elif [[ ${COMP_WORDS[2]} == lint && $word == -* ]]; then
                        _abatis_words "$policy"
                fi
                ;;
        serve) if [[ $word == -* ]]; then _abatis_words --socket --jobs --help; else _abatis_paths -f; fi ;;
        exec-request | hook) _abatis_words --help ;;
        sh) _abatis_paths -f ;;
        mcp) if [[ $word == -* ]]; then _abatis_words "$policy" --best-effort; fi ;;
        mcp-wrap) if [[ $word == -* ]]; then _abatis_words "$policy" --best-effort --server --undo --yes --dry-run; else _abatis_paths -f; fi ;;
        skill)
                if ((COMP_CWORD == 2)); then
                        _abatis_words run compile engines list show lint install remove --help
                elif [[ $word == -* ]]; then
                        case ${COMP_WORDS[2]} in
                        run | compile) _abatis_words "$policy" --best-effort --json --merge --pty --result-fd --context --tier --engine --import --allow ;;
                        list | show | engines) _abatis_words --json ;;
                        install) _abatis_words --tier --force ;;
                        esac
                else
                        case ${COMP_WORDS[2]} in
                        install) _abatis_paths -d ;;
                        lint | run | compile) _abatis_paths -f ;;
                        show | remove) _abatis_words "$(abatis skill list 2>/dev/null | cut -d ' ' -f 1)" ;;
                        esac
                fi
                ;;
        trust) if [[ $word == -* ]]; then _abatis_words --revoke --help; else _abatis_paths -d; fi ;;
        audit)
                if ((COMP_CWORD == 2)); then
                        _abatis_words list show stats report sql verify --help
                elif [[ $word == -* ]]; then
                        case ${COMP_WORDS[2]} in
                        list | stats) _abatis_words --since --until --command --verdict --limit --json --file --help ;;
                        report) _abatis_words --since --until --command --verdict --limit --output --file --help ;;
                        show) _abatis_words --json --file --help ;;
                        *) _abatis_words --file --help ;;
                        esac
                elif [[ ${COMP_WORDS[2]} == verify ]]; then
                        _abatis_paths -f
                fi
                ;;
        doctor) _abatis_words --test --json --help ;;
        esac
}

complete -F _abatis abatis
