"""What the tests of skills share: the engines that are here, and a module run by one, in the sandbox or by itself."""
import functools
import json
import os
import subprocess

from lib import ABATIS, TOP, Skip, expect

MODULES = f"{TOP}/modules"
NODE_PROGRAM = (
    "const{WASI}=require('wasi'),fs=require('fs');const[file,preopens,...args]=process.argv.slice(1);"
    "const wasi=new WASI({version:'preview1',args,env:{},preopens:JSON.parse(preopens),returnOnExit:true});"
    "process.exitCode=wasi.start(new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(file)),wasi.getImportObject()))")


def module(name):
    return f"{MODULES}/{name}.wasm"


@functools.cache
def engines():
    """Their names, as doctor tells them."""
    report = json.loads(subprocess.run([ABATIS, "skill", "engines", "--json"], capture_output=True, timeout=60, check=True).stdout)
    return [engine["engine"] for engine in report if engine["available"]]


def each_engine(test):
    """One test for each of them."""
    made = []
    for engine in engines():
        def on_engine(workspace, engine=engine):
            test(workspace, engine)
        on_engine.__name__ = f"{test.__name__}_on_{engine.replace('-', '_')}"
        made.append(on_engine)
    return made


def skill(engine, name, *arguments, flags=(), stdin=b"", **keys):
    """abatis skill run; what it came to."""
    path = name if "/" in name else module(name)
    chosen = ["--engine", engine] if engine else []
    return subprocess.run([ABATIS, "skill", "run", *chosen, *flags, path, "--", *arguments], input=stdin, capture_output=True, timeout=100,
                          **keys)


def bare(engine, name, *arguments, places=()):
    """The engine without abatis; places are (host, is writable)."""
    if engine == "node":
        command = ["node", "--no-warnings", "-e", NODE_PROGRAM, "--", module(name), json.dumps({host: host for host, _ in places}), name]
    elif engine.startswith("wazero"):
        flag = ["-interpreter"] if engine.endswith("interpreter") else []
        command = ["wazero", "run", *flag, *(f"-mount={host}:{host}{'' if writable else ':ro'}" for host, writable in places), module(name), "--"]
    else:
        raise Skip(f"how {engine} is run by itself is not known here")
    return subprocess.run([*command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=100)


def refused(word, *command, code=125, **keys):
    """One line on stderr with this word in it, and nothing was run."""
    done = subprocess.run([ABATIS, "skill", "run", *command], stdin=subprocess.DEVNULL, capture_output=True, timeout=100, **keys)
    lines = done.stderr.decode()
    expect(done.returncode == code and not done.stdout and lines.count("\n") == 1 and word in lines, f"{word}: {done}")


def write(path, text=""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()
