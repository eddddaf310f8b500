"""Measures the Python package: a command in its warm sandbox against the language's own, one at a time and 64 at once.

clients.py DIR ROUNDS, with the package in PYTHONPATH and the program in ABATIS. What is compared takes turns.
"""
import concurrent.futures
import statistics
import subprocess
import sys
import time

import abatis

AT_ONCE = 64
COMMAND = ["true"]
BAR = 1.5
WARM_UP = 20


def ours():
    if not abatis.run(COMMAND).ok:
        sys.exit("clients: the command has failed")


def own():
    subprocess.run(COMMAND, check=True)


def own_captured():
    subprocess.run(COMMAND, check=True, capture_output=True)


def took(what):
    start = time.perf_counter()
    what()
    return (time.perf_counter() - start) * 1e6


def compare(contenders, rounds):
    """The median of each, in microseconds."""
    samples = {name: [] for name in contenders}
    for number in range(WARM_UP + rounds):
        for name, what in contenders.items():
            sample = took(what)
            if number >= WARM_UP:
                samples[name].append(sample)
    return {name: statistics.median(values) for name, values in samples.items()}


def all_at_once(pool, what):
    return lambda: list(pool.map(lambda _: what(), range(AT_ONCE)))


def tell(directory, name, medians):
    ratio = medians["abatis.run"] / medians["subprocess.run"]
    print(f"{name:<16}" + "   ".join(f"{contender} {median:.0f} us" for contender, median in medians.items()) + f"   {ratio:.2f} x")
    with open(f"{directory}/figures", "a", encoding="ascii") as figures:
        figures.write("\t".join(["clients", name, f"us={medians['abatis.run']:.1f}", f"own_us={medians['subprocess.run']:.1f}"]) + "\n")
    with open(f"{directory}/bars", "a", encoding="ascii") as bars:
        bars.write(f"{'PASS' if ratio <= BAR else 'FAIL'}  {'clients: ' + name + ', against its own':<52} {ratio:9.3f} <= {BAR}\n")


def main():
    directory, rounds = sys.argv[1], int(sys.argv[2])
    tell(directory, "python", compare({"subprocess.run": own, "subprocess.run with capture": own_captured, "abatis.run": ours}, rounds))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        tell(directory, "python, 64", compare({"subprocess.run": all_at_once(pool, own), "abatis.run": all_at_once(pool, ours)}, max(rounds // 10, 10)))


main()
