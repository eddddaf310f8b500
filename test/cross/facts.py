#!/usr/bin/env python3
"""facts.py FILE: what a program file says of itself, one fact a line: of an ELF or a Mach-O file of 64 bits, little endian."""
import struct
import sys

ELF_MACHINES = {0x3E: "amd64", 0xB7: "arm64"}
MACHO_PROCESSORS = {0x01000007: "amd64", 0x0100000C: "arm64"}
LOAD_DYLIB, LOAD_WEAK_DYLIB, REEXPORT_DYLIB, CODE_SIGNATURE, BUILD_VERSION, MAIN = (
    0xC, 0x80000018, 0x8000001F, 0x1D, 0x32, 0x80000028)


def describe_elf(data):
    kind, machine = struct.unpack_from("<HH", data, 16)
    programs, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    yield "format ELF"
    yield f"cpu {ELF_MACHINES.get(machine, machine)}"
    yield f"kind {'executable' if kind in (2, 3) else kind}"
    for i in range(count):
        if struct.unpack_from("<I", data, programs + i * size)[0] == 3:
            yield "needs an interpreter"


def describe_macho(data):
    cpu, _, kind, count = struct.unpack_from("<IIII", data, 4)
    yield "format Mach-O"
    yield f"cpu {MACHO_PROCESSORS.get(cpu, cpu)}"
    yield f"kind {'executable' if kind == 2 else kind}"
    at = 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        if command in (LOAD_DYLIB, LOAD_WEAK_DYLIB, REEXPORT_DYLIB):
            name = data[at + struct.unpack_from("<I", data, at + 8)[0]:at + size]
            yield "library " + name.split(b"\0")[0].decode()
        elif command == BUILD_VERSION:
            platform, oldest = struct.unpack_from("<II", data, at + 8)
            yield f"for {'macOS' if platform == 1 else platform} {oldest >> 16}.{oldest >> 8 & 255}"
        elif command == CODE_SIGNATURE:
            yield "signed"
        elif command == MAIN:
            yield "has an entry"
        at += size


with open(sys.argv[1], "rb") as file:
    content = file.read()
if content[:4] == b"\x7fELF":
    print(*describe_elf(content), sep="\n")
elif content[:4] == b"\xcf\xfa\xed\xfe":
    print(*describe_macho(content), sep="\n")
else:
    print("format unknown")
