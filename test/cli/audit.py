#!/usr/bin/env python3
"""audit.py: writes audit logs by the rules of docs/AUDIT.md, without a line of abatis: the format, told a second time.

    audit.py PATH [sample|hostile|many]
"""
import datetime
import hashlib
import json
import os
import sys

BEGIN = datetime.datetime(2026, 11, 14, 8, 0, 0, tzinfo=datetime.timezone.utc)
SCRIPT = "<script>alert(1)</script>"


class Log:
    def __init__(self, path):
        self.path, self.seq, self.hash, self.lines = path, 0, "0" * 64, []

    def add(self, seconds, event, **fields):
        self.seq += 1
        time = (BEGIN + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        record = {"seq": self.seq, "time": time, "prev": self.hash, "event": event, **fields}
        line = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()
        self.hash = hashlib.sha256(line).hexdigest()
        self.lines.append(line + b"\n")

    def job(self, number, seconds, argv, code=0, duration=12.5, error=None, runs=False, **ending):
        job_id = f"{0x1234567800000000 + (number << 32):016x}-{number}"
        about = {"id": job_id, "policy": "ab" * 32, "argv": argv, "cwd": "/home/you/project", "backend": "native"}
        if error:
            self.add(seconds, "refused", **about, error=error)
            return
        self.add(seconds, "planned", **about, enforced=["network.mode"], not_enforced=[])
        self.add(seconds, "started", id=job_id)
        if not runs:
            end = {"timed_out": False, "stdout": {"bytes": 10, "sha256": "cd" * 32, "truncated": False}, **ending}
            if "signal" not in end:
                end["exit_code"] = code
            self.add(seconds + duration / 1000, "finished", id=job_id, duration_ms=duration, **end)

    def write(self):
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        data = b"".join(self.lines)
        head = f"seq {self.seq:020} first {1:020} size {len(data):020} hash {self.hash}\n"
        for path, text in ((self.path, data), (self.path + ".head", head.encode())):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(text)


def sample(log):
    """One job of each kind, an hour apart."""
    log.job(1, 0, ["make", "-j8"], duration=5234.25, connections=[
        {"time": "2026-11-14T08:00:01.000000Z", "verdict": "closed", "transport": "tcp", "name": "example.org",
         "address": "93.184.215.14", "port": 443, "sent": 517, "received": 4711, "rule": "example.org:443"},
        {"time": "2026-11-14T08:00:02.000000Z", "verdict": "refused", "name": "example.com", "sent": 0, "received": 0,
         "problem": "no entry of network.connect has this name"}])
    log.job(2, 3600, ["/usr/bin/python3", "-m", "pytest", "a b's"], code=1)
    log.job(3, 7200, ["curl", "https://example.org"], error="network.connect: no rule covers 'example.org:443'")
    log.job(4, 10800, ["sleep", "1000"], signal=9, duration=30000.0, timed_out=True, limit="limits.timeout")
    log.job(5, 14400, ["cc", "big.c"], signal=9, duration=800.5, limit="limits.memory")
    log.job(6, 18000, ["npm", "start"], runs=True)


def hostile(log):
    """Words that would drive a page, a terminal or a shell."""
    log.job(1, 0, ["echo", SCRIPT, "\"><img src=x onerror=alert(2)>"], duration=1.0)
    log.job(2, 60, [SCRIPT], error=SCRIPT + "</title></svg>")
    log.job(3, 120, ["echo", "\x1b[2J\x07\x9b31m\u202e", "a\nb", "'; DROP TABLE jobs; --\n.shell touch owned\n"])
    log.job(4, 180, [{"base64": "//4="}, ""], limit=SCRIPT, signal=9, connections=[
        {"verdict": "\x1b[2J", "name": "'); DROP TABLE jobs; --\n.shell touch owned\n", "port": "\x1b", "problem": [7]}, 7, None])


def many(log):
    """Three days of an agent at work."""
    programs = [["make", "-j8"], ["git", "status"], ["python3", "-m", "pytest", "-q"], ["npm", "test"],
                ["cargo", "build"], ["grep", "-rn", "TODO", "src"], ["ls", "-la"], ["cat", "README.md"]]
    errors = ["network.connect: no rule covers 'example.org:443'", "process.commands: 'curl' is not listed",
              "filesystem.write: no rule covers '/etc/hosts'"]
    state = 4343
    for number in range(1, 1500):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        seconds = number * 170 + (state >> 8) % 100
        argv, luck, duration = programs[state % 8], (state >> 12) % 100, 2.0 ** ((state >> 5) % 16) * 0.7
        if luck < 6:
            log.job(number, seconds, argv, error=errors[(state >> 16) % 3 * ((state >> 18) % 2)])
        elif luck < 9:
            log.job(number, seconds, argv, signal=9, duration=30000.0, timed_out=True, limit="limits.timeout")
        elif luck < 11:
            log.job(number, seconds, argv, signal=9, duration=duration, limit="limits.memory")
        else:
            log.job(number, seconds, argv, code=int(luck < 25), duration=duration, runs=luck == 99)


if __name__ == "__main__":
    made = Log(sys.argv[1])
    {"sample": sample, "hostile": hostile, "many": many}[sys.argv[2] if len(sys.argv) > 2 else "sample"](made)
    made.write()
