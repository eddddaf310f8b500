#!/usr/bin/env python3
"""swap.py DIRECTORY LINK: until it is killed, each takes the other's name for a moment, again and again."""
import ctypes
import os
import random
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
first, second = (os.fsencode(name) for name in sys.argv[1:])
AT_FDCWD, EXCHANGE = -100, 2


def swap():
    if libc.renameat2(AT_FDCWD, first, AT_FDCWD, second, EXCHANGE):
        sys.exit(os.strerror(ctypes.get_errno()))


def spin(nanoseconds):
    end = time.monotonic_ns() + nanoseconds // 2 + random.randrange(nanoseconds)
    while time.monotonic_ns() < end:
        pass


print("begun", flush=True)
while True:
    spin(300_000)
    swap()
    spin(40_000)
    swap()
