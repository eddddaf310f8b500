#!/usr/bin/env python3
"""Turns the profiles into a C table: embed.py OUTPUT PROFILE.yaml..."""
import pathlib
import sys

output, *files = sys.argv[1:]
lines = [
    "/* Made from profiles/ by script/embed.py. */",
    '#include "policy/profile.h"',
    "",
    "const struct shipped_profile shipped_profiles[] = {",
]
for file in sorted(map(pathlib.Path, files)):
    data = file.read_bytes()
    lines.append(f'        {{ "{file.stem}",')
    for line in data.splitlines(keepends=True):
        text = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92, 63) else f"\\{b:03o}" for b in line)
        lines.append(f'          "{text}"')
    lines.append(f"          , {len(data)} }},")
lines += ["        { 0, 0, 0 },", "};", ""]
pathlib.Path(output).write_text("\n".join(lines))
