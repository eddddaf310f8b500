"""Says what came of node's tests as the other suites do."""
import re
import sys

counts = {"passed": 0, "failed": 0, "skipped": 0}
planned, left_out = None, 0
for line in sys.stdin:
    if plan := re.match(r"1\.\.(\d+)", line):
        planned = int(plan[1])
        continue
    if not (found := re.match(r"(ok|not ok) \d+ - (.*?)( # SKIP ?(.*))?$", line)):
        if not re.match(r" *(---|\.\.\.|duration_ms:|type:|# )|TAP version|#", line) and line.strip():
            print("#", line, end="")
        continue
    if found[4] == "test name does not match pattern":
        left_out += 1
        continue
    name = re.sub(r"\W+", "_", found[2])
    kind = "skipped" if found[3] else "passed" if found[1] == "ok" else "failed"
    counts[kind] += 1
    print({"skipped": f"skip {name} - {found[4]}", "passed": f"ok {name}", "failed": f"not ok {name}"}[kind], flush=True)
if planned != sum(counts.values()) + left_out:
    print(f"not ok node_runs_to_its_end - {planned} were planned")
    counts["failed"] += 1
print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
