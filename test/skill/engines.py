"""What every engine runs, what a module is given, and what ends it."""
import json
import os
import re
import subprocess

from lib import ABATIS, TOP, expect, main
from skills import each_engine, engines, module, read, refused, skill, write


CODELESS = ("native", "wazero-interpreter", "iwasm", "wasmedge")  # who makes no code in memory


def good(done, output):
    expect(done.returncode == 0 and done.stdout.decode() == output, f"{output!r}: {done}")


def json_goes_in_and_out(_, engine):
    done = skill(engine, "hello", stdin=b'{"name":"you"}')
    expect(done.returncode == 0, str(done))
    expect(json.loads(done.stdout) == {"greeting": "hello you", "bytes": 14}, str(done))


def a_module_reads_and_writes_what_it_was_given(workspace, engine):
    inside, given = f"{workspace}/inside", f"{workspace}/given"
    write(f"{inside}/own.txt", "own\n")
    write(f"{given}/text", "given\n")
    flags = ["--write", inside, "--read", given, "--workspace", inside]
    good(skill(engine, "files", "read", f"{inside}/own.txt", flags=flags), "own\n")
    good(skill(engine, "files", "read", f"{given}/text", flags=flags), "given\n")
    good(skill(engine, "files", "read", "own.txt", flags=flags), "own\n")  # the workspace is "."
    good(skill(engine, "files", "write", f"{inside}/new.txt", "new", flags=flags), "")
    expect(read(f"{inside}/new.txt") == b"new", "what the module wrote is not there")
    good(skill(engine, "files", "list", inside, flags=flags), "new.txt\nown.txt\n")
    good(skill(engine, "files", "rename", f"{inside}/new.txt", f"{inside}/newer.txt", flags=flags), "")
    good(skill(engine, "files", "remove", f"{inside}/newer.txt", flags=flags), "")
    good(skill(engine, "files", "make", f"{inside}/directory", flags=flags), "")
    expect(sorted(os.listdir(inside)) == ["directory", "own.txt"], str(os.listdir(inside)))
    expect(skill(engine, "files", "write", f"{given}/new.txt", "new", flags=flags).returncode == 1, "what is given to be read was written")
    expect(skill(engine, "files", "read", f"{inside}/own.txt").returncode == 1, "nothing was given, and a file was read")
    expect(os.listdir(given) == ["text"], str(os.listdir(given)))


def what_is_denied_in_a_given_directory_is_not_there(workspace, engine):
    write(f"{workspace}/in/open", "open\n")
    write(f"{workspace}/in/.env", "secret\n")
    flags = ["--write", f"{workspace}/in"]
    good(skill(engine, "files", "read", f"{workspace}/in/.env", flags=flags), "secret\n")
    flags += ["--deny", f"{workspace}/in/.env"]
    good(skill(engine, "files", "read", f"{workspace}/in/open", flags=flags), "open\n")
    done = skill(engine, "files", "read", f"{workspace}/in/.env", flags=flags)
    expect(done.returncode == 1 and b"secret" not in done.stdout, str(done))


def arguments_come_as_they_are(_, engine):
    for words in (["a", "two words", "-x", "--", "é"], [], ["--"], ["--help"], [""]):
        done = skill(engine, "show", *words)
        lines = done.stdout.decode().splitlines()
        expect(done.returncode == 0 and lines[0] == "argument 0 show.wasm", str(done))
        expect([line.split(" ", 2)[2] for line in lines[1:]] == words, f"{words}: {done}")


def variables_are_those_of_the_policy(_, engine):
    done = skill(engine, "show", env={**os.environ, "PLAIN": "x", "A_TOKEN": "secret"})
    expect(b"variable" not in done.stdout, f"it has variables that nobody gave: {done}")
    done = skill(engine, "show", flags=["--env", "GIVEN=one=two", "--env", "PLAIN"], env={**os.environ, "PLAIN": "x"})
    expect(sorted(re.findall(r"variable (.*)", done.stdout.decode())) == ["GIVEN=one=two", "PLAIN=x"], str(done))


def what_would_steer_the_engine_is_refused(workspace, engine):
    for name in ("LD_PRELOAD", "NODE_OPTIONS", "GODEBUG", "GLIBC_TUNABLES"):
        refused(name, "--engine", engine, "--env", f"{name}=x", module("show"))


def exit_codes_are_the_modules(_, engine):
    for words, code in ((["0"], 0), (["7"], 7), (["42", "exit"], 42), ([], 0)):
        done = skill(engine, "leave", *words)
        expect(done.returncode == code, f"{words}: {done}")


def a_trap_is_an_error_and_is_told(_, engine):
    for name in ("trap", "divide", "beyond", "bounds"):
        done = skill(engine, name)
        expect(done.returncode not in (0, 124, 125, 126, 127) and done.stderr, f"{name}: {done}")


def a_loop_ends_with_its_time(_, engine):
    done = skill(engine, "loop", flags=["--timeout", "2s"])
    expect(done.returncode == 124 and done.stdout == b"begun\n", str(done))
    done = skill(engine, "loop", flags=["--cpu", "1s", "--json"])
    result = json.loads(done.stdout)
    expect(result["limit"] == "limits.cpu", str(result))


def memory_ends_where_the_policy_says(_, engine):
    """The maximum of the module's own memory is lowered: it is told no, and lives."""
    pages = []
    for limit in (128, 256):
        done = skill(engine, "memory", "touch", flags=["--memory", f"{limit}MiB"])
        expect(done.returncode == 0, str(done))
        pages.append(json.loads(done.stdout)["pages"])
        expect(200 < pages[-1] <= limit * 16, f"{pages[-1]} pages of {limit} MiB")
    expect(pages[0] < pages[1], f"{pages} pages")
    refused("pages, and", "--engine", engine, "--memory", "1MiB", module("memory"))


def a_stack_without_end_is_a_trap(_, engine):
    done = skill(engine, "stack", flags=["--timeout", "20s"])
    expect(done.returncode not in (0, 124, 125), str(done))


def a_flood_is_cut(_, engine):
    for to in ("output", "errors"):
        done = skill(engine, "flood", to, flags=["--timeout", "2s", "--max-output", "64KiB", "--json"])
        result = json.loads(done.stdout)
        kept = len(result["stderr" if to == "errors" else "stdout"])
        expect(result["truncated"] and kept < 70000 and result["timed_out"], f"{to}: {kept} {str(result)[-400:]}")


def nothing_is_left_after_a_run(_, engine):
    before = set(os.listdir("/proc"))
    skill(engine, "loop", flags=["--timeout", "200ms"])
    for pid in set(os.listdir("/proc")) - before:
        try:
            words = read(f"/proc/{pid}/cmdline")
        except OSError:
            continue
        expect(b"loop.wasm" not in words, f"{words} is left")


def the_plan_holds_what_it_says(workspace, engine):
    done = skill(engine, "hello", flags=["--json"])
    result = json.loads(done.stdout)
    wanted = {"filesystem.read", "filesystem.write", "filesystem.execute", "process.system_calls few", "process.fork false",
              "network.mode deny", "limits.memory", "limits.cpu", "limits.timeout", "limits.output"}
    expect(wanted <= set(result["enforced"]) and not result["not_enforced"], f"{wanted - set(result['enforced'])} {result['not_enforced']}")
    expect(any(word.startswith("process.commands ") for word in result["enforced"]), str(result["enforced"]))
    strict = "process.executable_memory false" in result["enforced"]
    expect(strict == (engine in CODELESS), f"{engine}: {result['enforced']}")


def a_policy_without_executable_memory_takes_an_interpreter(workspace):
    policy = write(f"{workspace}/p.yaml", "version: 1\nextends: skill\nprocess: {executable_memory: false}\n")
    done = skill(None, "hello", flags=["--tier", "local", "--policy", policy, "--json"])
    result = json.loads(done.stdout)
    expect(result["exit_code"] == 0 and ("-interpreter" in result["argv"] or result["argv"][0].endswith("/program")), str(result))
    for engine in engines():
        if engine not in CODELESS:
            refused("makes code in memory", "--tier", "local", "--policy", policy, "--engine", engine, module("hello"))


def what_was_compiled_is_used_again_and_is_the_users_alone(_):
    cache = f"{TOP}/home/.cache/abatis/skills"
    subprocess.run(["chmod", "-R", "u+w", cache], check=False)
    subprocess.run(["rm", "-rf", cache], check=True)
    expect(skill("wazero", "hello").returncode == 0, "the first run")
    places = os.listdir(f"{cache}/compiled")
    expect(len(places) == 1, str(places))
    code = subprocess.run(["find", f"{cache}/compiled", "-type", "f", "-printf", "%m %i %p\n"], capture_output=True, check=True).stdout
    expect(code.startswith(b"400 ") and code.count(b"\n") == 1, str(code))
    expect(skill("wazero", "hello").returncode == 0, "the second run")
    again = subprocess.run(["find", f"{cache}/compiled", "-type", "f", "-printf", "%m %i %p\n"], capture_output=True, check=True).stdout
    expect(again == code, "it was compiled again")
    expect(os.stat(cache).st_mode & 0o77 == 0, "others see the cache")
    # Another limit is another module.
    expect(skill("wazero", "hello", flags=["--memory", "100MiB"]).returncode == 0, "another limit")
    expect(len(os.listdir(f"{cache}/compiled")) == 2, "one of another limit was taken")


def a_module_becomes_a_program_that_is_taken_from_then_on(workspace):
    cache = f"{TOP}/home/.cache/abatis/skills"
    subprocess.run(["rm", "-rf", f"{cache}/compiled"], check=True)
    refused_yet = subprocess.run([ABATIS, "skill", "run", "--json", module("hello")], capture_output=True, timeout=100, stdin=subprocess.DEVNULL)
    expect("/program" not in json.loads(refused_yet.stdout)["argv"][0], "there is a program that nobody has made")
    done = subprocess.run([ABATIS, "skill", "compile", module("hello")], capture_output=True, timeout=100)
    program = done.stdout.decode().strip()
    expect(done.returncode == 0 and os.stat(program).st_mode & 0o7777 == 0o500, str(done))
    expect(os.listdir(os.path.dirname(program)) == ["program"], "what it was made of is left")
    expect(not os.listdir(f"{TOP}/home/.cache/abatis/skills-staged"), "what it was made in is left")
    result = json.loads(skill(None, "hello", flags=["--json"]).stdout)
    expect(result["argv"][0] == program and result["exit_code"] == 0, str(result))
    # Of another module, or with another limit, there is none.
    expect(json.loads(skill(None, "hello", flags=["--json", "--memory", "300MiB"]).stdout)["argv"][0] != program, "another limit")


def what_cannot_become_a_program_is_refused_before_it_runs(_):
    for name, word in (("simd", "SIMD"), ("forbidden", "env.system"), ("memory64", "64 bits"), ("shared", "shared"), ("mistyped", "does not take the module: error: ")):
        done = subprocess.run([ABATIS, "skill", "compile", module(name)], capture_output=True, timeout=100)
        expect(done.returncode == 125 and word in done.stderr.decode() and done.stderr.count(b"\n") == 1, f"{name}: {done}")
    expect(subprocess.run([ABATIS, "skill", "compile", module("leave")], capture_output=True, timeout=100).returncode == 0, "the control")


def a_changed_copy_in_the_store_is_not_run(_):
    cache = f"{TOP}/home/.cache/abatis/skills/modules"
    expect(skill("wazero-interpreter", "hello").returncode == 0, "the first run")
    for directory in os.listdir(cache):
        for name in os.listdir(f"{cache}/{directory}"):
            path = f"{cache}/{directory}/{name}"
            os.chmod(path, 0o600)
            with open(path, "wb") as file:
                file.write(read(module("leave")))
    done = skill("wazero-interpreter", "hello", stdin=b'{"name":"x"}')
    expect(done.returncode == 0 and b"hello x" in done.stdout, str(done))


def a_command_in_a_sandbox_cannot_change_the_store(workspace):
    cache = f"{TOP}/home/.cache/abatis/skills"
    expect(skill("wazero", "hello").returncode == 0, "there is a store")
    target = subprocess.run(["find", f"{cache}/compiled", "-type", "f"], capture_output=True, check=True).stdout.decode().split()[0]
    attack = f'chmod u+w "{target}"; echo x >>"{target}"; mv "{cache}" "{cache}.gone"; rm -rf "{cache}/compiled"'
    before = read(target)
    subprocess.run([ABATIS, "run", "--workspace", f"{TOP}/home", "--", "sh", "-c", attack], cwd=f"{TOP}/home", capture_output=True, timeout=60)
    expect(read(target) == before, "it was changed")
    done = subprocess.run([ABATIS, "run", "--workspace", f"{TOP}/home", "--", "sh", "-c", f'echo x >"{TOP}/home/.cache/control"'], cwd=f"{TOP}/home",
                          capture_output=True, timeout=60)
    expect(os.path.exists(f"{TOP}/home/.cache/control"), f"the control: {done}")


TESTS = [json_goes_in_and_out, a_module_reads_and_writes_what_it_was_given, what_is_denied_in_a_given_directory_is_not_there,
         arguments_come_as_they_are, variables_are_those_of_the_policy, what_would_steer_the_engine_is_refused, exit_codes_are_the_modules,
         a_trap_is_an_error_and_is_told, a_loop_ends_with_its_time, memory_ends_where_the_policy_says, a_stack_without_end_is_a_trap,
         a_flood_is_cut, nothing_is_left_after_a_run, the_plan_holds_what_it_says]
main([test for every in TESTS for test in each_engine(every)] +
     [a_policy_without_executable_memory_takes_an_interpreter, what_was_compiled_is_used_again_and_is_the_users_alone,
      a_module_becomes_a_program_that_is_taken_from_then_on, what_cannot_become_a_program_is_refused_before_it_runs,
      a_changed_copy_in_the_store_is_not_run, a_command_in_a_sandbox_cannot_change_the_store])
