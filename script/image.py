#!/usr/bin/env python3
"""Turns the porter's program into C: image.py PROGRAM OUTPUT"""
import pathlib
import sys

program, output = map(pathlib.Path, sys.argv[1:])
data = program.read_bytes()
lines = ['/* Made by script/image.py. */', '#include "run/porter_image.h"', "", "const unsigned char porter_image[] = {"]
for at in range(0, len(data), 24):
    lines.append("        " + "".join(f"{byte}," for byte in data[at : at + 24]))
lines += ["};", f"const size_t porter_image_size = {len(data)};", ""]
output.write_text("\n".join(lines))
