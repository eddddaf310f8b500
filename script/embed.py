#!/usr/bin/env python3
"""Turns files into a C table of their names and texts: embed.py OUTPUT HEADER STRUCT TABLE FILE...

A profile goes by its name without the suffix, any other file by the whole."""
import pathlib
import sys

output, header, struct, table, *files = sys.argv[1:]
lines = [
    "/* Made by script/embed.py. */",
    f'#include "{header}"',
    "",
    f"const struct {struct} {table}[] = {{",
]
for file in sorted(map(pathlib.Path, files)):
    data = file.read_bytes()
    lines.append(f'        {{ "{file.stem if file.suffix == ".yaml" else file.name}",')
    for line in data.splitlines(keepends=True):
        text = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92, 63) else f"\\{b:03o}" for b in line)
        lines.append(f'          "{text}"')
    lines.append(f"          , {len(data)} }},")
lines += ["        { 0, 0, 0 },", "};", ""]
pathlib.Path(output).write_text("\n".join(lines))
