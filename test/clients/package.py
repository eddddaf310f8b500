"""What a user installs: the wheel, the packed package, the types, the examples, and that the numbers of their versions agree."""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

from lib import TOP, Skip, expect, main

REPO = f"{TOP}/repo"


def run(*command, **keys):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **keys)
    expect(done.returncode == 0, f"{command[:4]}: {done.returncode} {done.stdout[-300:]} {done.stderr[-600:]}")
    return done.stdout


def read(name):
    with open(f"{REPO}/{name}") as file:
        return file.read()


def the_wheel_builds_without_a_network_and_has_all_of_the_package(workspace):
    try:
        import setuptools  # noqa: F401
        import wheel  # noqa: F401
    except ImportError as missing:
        raise Skip(f"there is no {missing.name}") from None
    source, wheels = f"{workspace}/python", f"{workspace}/wheels"
    shutil.copytree(f"{REPO}/clients/python", source)
    os.mkdir(wheels)
    run(sys.executable, "-c", f"from setuptools import build_meta; build_meta.build_wheel({wheels!r})", cwd=source)
    (name,) = os.listdir(wheels)
    expect(name.endswith("-py3-none-any.whl"), name)
    installed = f"{workspace}/installed"
    with zipfile.ZipFile(f"{wheels}/{name}") as archive:
        archive.extractall(installed)
        metadata = archive.read(next(each for each in archive.namelist() if each.endswith("/METADATA"))).decode()
    expect("Requires-Python: >=3.9" in metadata and "Requires-Dist" not in metadata, metadata)
    expect(sorted(os.listdir(f"{installed}/abatis")) == sorted(os.listdir(f"{source}/abatis")), os.listdir(f"{installed}/abatis"))
    said = run(sys.executable, "-B", "-c", "import abatis; print(abatis.__file__, abatis.run(['echo', 'inside']).stdout)", cwd=workspace,
               env={**os.environ, "PYTHONPATH": installed})
    expect(said == f"{installed}/abatis/__init__.py inside\n\n", said)


def the_package_packs_and_runs_where_it_is_unpacked(workspace):
    if not shutil.which("npm"):
        raise Skip("there is no npm")
    target = f"{workspace}/packed"
    os.makedirs(f"{target}/node_modules")
    packed = json.loads(run("npm", "pack", "--json", "--offline", "--pack-destination", target, f"{REPO}/clients/node", cwd=target))
    with tarfile.open(f"{target}/{packed[0]['filename']}") as archive:
        archive.extractall(target, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(target)
    os.rename(f"{target}/package", f"{target}/node_modules/abatis")
    there = {os.path.relpath(f"{folder}/{name}", f"{target}/node_modules/abatis") for folder, _, names in os.walk(f"{target}/node_modules/abatis") for name in names}
    wanted = {"package.json", "README.md", "index.js", "index.mjs", "index.d.ts", "index.d.mts"} | {f"lib/{name}" for name in os.listdir(f"{REPO}/clients/node/lib")}
    expect(there == wanted, there ^ wanted)
    for kind, script in (("commonjs", "require('abatis').run(['echo', 'x']).then((result) => console.log(result.stdout))"),
                         ("module", "import { run } from 'abatis'; console.log((await run(['echo', 'x'])).stdout)")):
        expect(run("node", f"--input-type={kind}", "-e", script, cwd=target) == "x\n\n", kind)


def no_package_depends_on_another(workspace):
    package = json.loads(read("clients/node/package.json"))
    expect(not [key for key in package if "ependencies" in key], package)
    expect("\ndependencies = []\n" in read("clients/python/pyproject.toml"), "pyproject.toml")


def the_versions_agree(workspace):
    wanted = re.search(r"version: '([\d.]+)'", read("meson.build"))[1]
    found = {
        "pyproject.toml": re.search(r'^version = "(.*)"', read("clients/python/pyproject.toml"), re.M)[1],
        "__init__.py": re.search(r'__version__ = "(.*)"', read("clients/python/abatis/__init__.py"))[1],
        "package.json": json.loads(read("clients/node/package.json"))["version"],
    }
    expect(set(found.values()) == {wanted}, f"{wanted}: {found}")


def the_schemas_keys_of_a_run_are_those_that_the_clients_know(workspace):
    """`stream` and `policy_file` come by themselves, `id`, `method` and `protocol` are nobody's business."""
    keys = set(json.loads(read("docs/server.schema.json"))["definitions"]["run"]["properties"])
    for name in ("clients/python/abatis/_request.py", "clients/node/lib/request.js"):
        text = read(name)
        missing = [key for key in keys - {"stream"} if not re.search(rf"\b{key}\b", text)]
        expect(not missing, f"{name} does not know {missing}")


def examples_of(name, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", read(name), re.M | re.S)


def the_examples_for_python_run(workspace):
    examples = examples_of("clients/python/README.md", "python")
    expect(len(examples) >= 4, f"{len(examples)} examples")
    for example in examples:
        run(sys.executable, "-B", "-c", example, cwd=workspace, env={**os.environ, "PYTHONPATH": f"{REPO}/clients/python"})


def the_examples_for_node_run(workspace):
    examples = examples_of("clients/node/README.md", "js")
    expect(len(examples) >= 3, f"{len(examples)} examples")
    for number, example in enumerate(examples):
        with open(f"{TOP}/node/example-{number}.mjs", "w") as file:
            file.write(example)
        run("node", f"{TOP}/node/example-{number}.mjs", cwd=workspace)


def the_types_are_of_what_is_exported(workspace):
    exported = run("node", "-p", "Object.keys(require('abatis')).sort().join()", cwd=f"{TOP}/node").strip().split(",")
    declared = re.findall(r"^export declare (?:class|function) (\w+)", read("clients/node/index.d.ts"), re.M)
    expect(sorted(set(declared)) == exported, f"{sorted(set(declared))} {exported}")


main([the_wheel_builds_without_a_network_and_has_all_of_the_package, the_package_packs_and_runs_where_it_is_unpacked,
      no_package_depends_on_another, the_versions_agree, the_schemas_keys_of_a_run_are_those_that_the_clients_know,
      the_examples_for_python_run, the_examples_for_node_run, the_types_are_of_what_is_exported])
