#!/usr/bin/env python3
"""Turns a program into C, as run/images.h has it: image.py NAME PROGRAM OUTPUT"""
import pathlib
import sys

name = sys.argv[1]
program, output = map(pathlib.Path, sys.argv[2:])
data = program.read_bytes()
lines = ["/* Made by script/image.py. */", '#include "run/images.h"', "", f"const unsigned char {name}_image[] = {{"]
for at in range(0, len(data), 24):
    lines.append("        " + "".join(f"{byte}," for byte in data[at : at + 24]))
lines += ["};", f"const size_t {name}_image_size = {len(data)};", ""]
output.write_text("\n".join(lines))
