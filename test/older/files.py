"""files.py WAY PATH: cuts a file off without opening it to be written; prints "done", or the error's name."""
import errno
import os
import sys


def cut(way, path):
    if way == "truncate":
        os.truncate(path, 0)
    elif way == "open":
        os.close(os.open(path, os.O_RDONLY | os.O_TRUNC))
    elif way == "open_or_make":
        os.close(os.open(path, os.O_RDONLY | os.O_TRUNC | os.O_CREAT, 0o644))
    elif way == "open_below":
        directory = os.open(os.path.dirname(path), os.O_PATH)
        os.close(os.open(os.path.basename(path), os.O_RDONLY | os.O_TRUNC, dir_fd=directory))
    elif way == "open_for_nothing":
        os.close(os.open(path, 3 | os.O_TRUNC))
    elif way == "make_for_nothing":
        os.close(os.open(path, 3 | os.O_TRUNC | os.O_CREAT, 0o644))
    elif way == "open_to_write":
        os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))
    else:
        raise ValueError(way)


try:
    cut(sys.argv[1], sys.argv[2])
    print("done")
except OSError as error:
    print(errno.errorcode[error.errno])
