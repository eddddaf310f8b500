#!/usr/bin/python3
"""Exchanges two names of a directory, and two others, without a pause: exchange.py DIRECTORY NAME OTHER [NAME OTHER]..."""
import ctypes
import os
import sys

AT_FDCWD, RENAME_EXCHANGE = -100, 2
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(sys.argv[1])
names = [name.encode() for name in sys.argv[2:]]
while True:
    for one, other in zip(names[::2], names[1::2]):
        if libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) < 0:
            sys.exit(os.strerror(ctypes.get_errno()))
