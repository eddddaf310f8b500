# abatis.fish: completes the verbs, flags and values of abatis in fish (share/fish/vendor_completions.d/abatis.fish).

# Prints the words of the command inside, one a line, and fails while the cursor still is among abatis's own.
function __abatis_command
    set -l words (commandline -opc)
    contains -- "$words[2]" run explain; or return 1
    set -e words[1..2]
    while set -q words[1]
        switch $words[1]
            case --
                set -e words[1]
                string join -- \n $words
                return 0
            case --json --merge --pty --watch-net --best-effort --no-audit --help '--*=*'
            case '-*'
                set -e words[1]
            case '*'
                string join -- \n $words
                return 0
        end
        set -e words[1]
    end
    return 1
end

# Completes the command inside as if it stood alone.
function __abatis_complete_command
    set -l token (commandline -ct)
    set -l words (__abatis_command)
    if set -q words[1]; or not string match -q -- '-*' "$token"
        complete "--do-complete="(string join ' ' -- (string escape -- $words) "$token")
    end
end

function __abatis_is_verb
    set -l words (commandline -opc)
    contains -- "$words[2]" $argv
end

# Of the verbs that have words, those whose second word is one of these.
function __abatis_is_word
    set -l words (commandline -opc)
    contains -- "$words[2] $words[3]" $argv
end

function __abatis_takes_flags
    __abatis_is_verb check mcp mcp-wrap; or __abatis_is_word 'policy show' 'policy lint' 'profile lint'
    or __abatis_is_verb run explain; and not __abatis_command >/dev/null
end

function __abatis_needs_access
    set -l words (commandline -opc)
    test (count $words) -eq 2; and test $words[2] = check
end

complete -c abatis -f

complete -c abatis -n __fish_is_first_token -a run -d 'run a command in the sandbox'
complete -c abatis -n __fish_is_first_token -a sh -d 'a shell whose commands run in the sandbox'
complete -c abatis -n __fish_is_first_token -a explain -d 'print how a policy would be enforced'
complete -c abatis -n __fish_is_first_token -a check -d 'ask about one path'
complete -c abatis -n __fish_is_first_token -a serve -d 'answer requests of programs'
complete -c abatis -n __fish_is_first_token -a exec-request -d 'run a program as a JSON object says'
complete -c abatis -n __fish_is_first_token -a mcp -d 'serve an agent with tools, over MCP'
complete -c abatis -n __fish_is_first_token -a mcp-wrap -d 'have an MCP client start its servers in a sandbox'
complete -c abatis -n __fish_is_first_token -a hook -d 'refuse what tools of an agent must not touch'
complete -c abatis -n __fish_is_first_token -a policy -d 'show, lint or convert policies'
complete -c abatis -n __fish_is_first_token -a profile -d 'list, show or lint profiles'
complete -c abatis -n __fish_is_first_token -a trust -d 'let the policy file of a project allow more'
complete -c abatis -n __fish_is_first_token -a skill -d 'run WebAssembly modules in a sandbox, and install packages of them'
complete -c abatis -n __fish_is_first_token -a audit -d 'ask the audit log'
complete -c abatis -n __fish_is_first_token -a doctor -d 'print what this machine can enforce'
complete -c abatis -n __fish_is_first_token -l version -d 'print the version'
complete -c abatis -n __fish_is_first_token -l help -d 'explain the verbs'

complete -c abatis -n __abatis_needs_access -a 'read write execute'
complete -c abatis -n '__abatis_is_verb sh' -F
complete -c abatis -n '__abatis_is_verb check; and not __abatis_needs_access' -F
complete -c abatis -n '__abatis_is_verb run explain' -a '(__abatis_complete_command)'

function __abatis_is_second
    test (count (commandline -opc)) -eq 2
end

complete -c abatis -n '__abatis_is_verb policy; and __abatis_is_second' -a 'show lint convert schema'
complete -c abatis -n "__abatis_is_word 'policy convert'" -F
complete -c abatis -n '__abatis_is_verb profile; and __abatis_is_second' -a 'list show lint'
complete -c abatis -n "__abatis_is_word 'profile show' 'profile lint'; and test (count (commandline -opc)) -eq 3" -a "(abatis profile list 2>/dev/null | string replace -r ' .*' '')"
complete -c abatis -n '__abatis_is_verb trust' -l revoke -d 'no longer'
complete -c abatis -n '__abatis_is_verb trust' -x -a '(__fish_complete_directories)'


complete -c abatis -n '__abatis_is_verb skill; and __abatis_is_second' -a 'run compile engines list show lint install remove'
complete -c abatis -n "__abatis_is_word 'skill show' 'skill remove'; and test (count (commandline -opc)) -eq 3" -a "(abatis skill list 2>/dev/null | string replace -r ' .*' '')"
complete -c abatis -n "__abatis_is_word 'skill show' 'skill install'" -x -a '(__fish_complete_directories)'
complete -c abatis -n "__abatis_is_word 'skill lint' 'skill run' 'skill compile'" -F
complete -c abatis -n "__abatis_is_word 'skill run'" -l tier -x -a 'untrusted verified local' -d 'how far it is trusted'
complete -c abatis -n "__abatis_is_word 'skill run'" -l engine -x -a 'auto native wazero wasmtime wazero-interpreter iwasm wasmedge node' -d 'who runs it'
complete -c abatis -n "__abatis_is_word 'skill run'" -l import -x -d 'what it may import besides WASI'
complete -c abatis -n "__abatis_is_word 'skill run'" -l allow -x -a '64-bit shared memories' -d 'what it may have'
complete -c abatis -n "__abatis_is_word 'skill list' 'skill show' 'skill engines' 'skill run'" -l json -d 'print JSON'
complete -c abatis -n "__abatis_is_word 'skill install'" -l tier -x -a 'local untrusted' -d 'what it gets'
complete -c abatis -n "__abatis_is_word 'skill install'" -l force -d 'replace another one of its name'

function __abatis_audits
    set -l words (commandline -opc)
    test "$words[2]" = audit; and contains -- "$words[3]" $argv
end

complete -c abatis -n '__abatis_is_verb audit; and __abatis_is_second' -a 'list show stats report sql verify'
complete -c abatis -n '__abatis_audits verify' -F
complete -c abatis -n '__abatis_audits list stats report' -l since -x -a '30m 2h 1d 7d' -d 'begun since then'
complete -c abatis -n '__abatis_audits list stats report' -l until -x -a '30m 2h 1d 7d' -d 'begun until then'
complete -c abatis -n '__abatis_audits list stats report' -l command -x -d 'program or line, a pattern'
complete -c abatis -n '__abatis_audits list stats report' -l verdict -x -a 'ok failed refused timeout limit running' -d 'how it ended'
complete -c abatis -n '__abatis_audits list stats report' -l limit -x -d 'the last ones'
complete -c abatis -n '__abatis_audits list stats show' -l json -d 'print JSON'
complete -c abatis -n '__abatis_audits report' -s o -l output -r -F -d 'where to'
complete -c abatis -n '__abatis_audits list show stats report sql verify' -l file -r -F -d 'another log'

set -l flags complete -c abatis -n __abatis_takes_flags
$flags -l preset -x -a 'dev tool mcp strict guard skill' -d 'start from this policy'
$flags -l profile -x -a "(abatis profile list 2>/dev/null | string replace -r ' .*' '')" -d 'start from this profile'
$flags -l policy -r -F -d 'a policy file'
$flags -l workspace -x -a '(__fish_complete_directories)' -d 'the directory that the command works in'
$flags -l data -x -a '(__fish_complete_directories)' -d 'the data directory of the agent'
$flags -l config -r -F -d 'a configuration file of the agent'
$flags -l read -r -F -d 'allow reading'
$flags -l write -r -F -d 'allow writing'
$flags -l exec -r -F -d 'allow executing'
$flags -l deny -r -F -d 'neither read nor written'
$flags -l deny-glob -x -d 'neither read nor written where it matches'
$flags -l protect -r -F -d 'read but never written'
$flags -l net -x -a 'deny unix-only allow list' -d 'the network'
$flags -l connect -x -d 'allow connecting to HOST:PORT'
$flags -l bind -x -d 'publish a port on the loopback of the host'
$flags -l unix -r -F -d 'a unix socket that may be connected to'
$flags -l backend -x -a 'auto native bwrap seatbelt appcontainer none' -d 'who enforces'
$flags -l no-loopback -d 'no sockets at all with --net deny'
$flags -l no-verify-sni -d 'TLS and HTTP need not name the host that was asked for'
$flags -l command -x -a '(__fish_complete_command)' -d 'allow only these programs'
$flags -l env -x -a '(set -xn)' -d 'pass or set a variable'
$flags -l timeout -x -a '10s 30s 5m 1h' -d 'kill everything after this time'
$flags -l max-output -x -a '1MiB 16MiB' -d 'keep no more output than this'
$flags -l open-files -x -d 'open files of each process'
$flags -l file-size -x -a '64MiB 1GiB' -d 'largest file'
$flags -l written -x -a '1GiB 10GiB' -d 'bytes that all processes write to storage'
$flags -l processes -x -d 'processes and threads'
$flags -l memory -x -a '512MiB 2GiB' -d 'memory of the whole tree'
$flags -l cpu -x -a '10s 60s' -d 'processor time of the whole tree'
$flags -l connections -x -d 'connections at once'
$flags -l connections-per-second -x -d 'new connections in a second'
$flags -l traffic -x -a '64MiB 1GiB' -d 'bytes that all connections pass'
$flags -l audit-log -r -F -d 'where it is written down what was run'
$flags -l no-audit -d 'write nothing down'
complete -c abatis -n 'not __fish_is_first_token; and not __abatis_command >/dev/null' -l help -d 'explain the verb'

complete -c abatis -n "__abatis_is_verb doctor run explain; or __abatis_is_word 'policy show'; and not __abatis_command >/dev/null" -l json -d 'print JSON'
complete -c abatis -n '__abatis_is_verb explain; and not __abatis_command >/dev/null' -l tier -x -a 'local verified untrusted' -d 'what a trust tier gets'
complete -c abatis -n '__abatis_is_verb explain; and not __abatis_command >/dev/null' -l tiers -d 'the table of trust tiers'
complete -c abatis -n '__abatis_is_verb serve' -l socket -r -F -d 'listen at a unix socket'
complete -c abatis -n '__abatis_is_verb serve' -l jobs -x -d 'commands at once'
complete -c abatis -n '__abatis_is_verb mcp-wrap' -F
complete -c abatis -n '__abatis_is_verb mcp-wrap' -l server -x -d 'only this one'
complete -c abatis -n '__abatis_is_verb mcp-wrap' -l undo -d 'the servers as they were'
complete -c abatis -n '__abatis_is_verb mcp-wrap' -l yes -d 'do not ask'
complete -c abatis -n '__abatis_is_verb mcp-wrap' -l dry-run -d 'only show it'
complete -c abatis -n '__abatis_is_verb doctor' -l test -d 'try what policies forbid'
complete -c abatis -n '__abatis_is_verb run explain mcp mcp-wrap; and not __abatis_command >/dev/null' -l best-effort -d 'go on without what cannot be enforced here'
complete -c abatis -n '__abatis_is_verb run; and not __abatis_command >/dev/null' -l merge -d 'with --json: stderr in stdout'
complete -c abatis -n '__abatis_is_verb run; and not __abatis_command >/dev/null' -l pty -d 'give the command a terminal of its own'
complete -c abatis -n '__abatis_is_verb run; and not __abatis_command >/dev/null' -l watch-net -d 'say what is connected to and what is refused'
complete -c abatis -n '__abatis_is_verb run; and not __abatis_command >/dev/null' -l result-fd -x -d 'write the result object to a descriptor'
complete -c abatis -n '__abatis_is_verb run; and not __abatis_command >/dev/null' -l context -x -d 'what the audit log shall say about it'
