"""Becomes the Redis server, tied to the process that started it. A script that needs only the standard library.

``launch.py PARENT LOCK SERVER ARGUMENT…``: asks the kernel for a SIGTERM when the parent's thread ends, writes our pid
into the inherited lock, file descriptor LOCK (which stays locked as long as the server lives), then execs. It is a
separate program, since code between fork and exec may deadlock in a process with threads.
"""

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def main(parent: int, lock: int, command: list[str]) -> None:
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        sys.exit("prctl(PR_SET_PDEATHSIG) failed: the server would outlive the service")
    if os.getppid() != parent:  # It ended before the request to the kernel.
        sys.exit("the service that started this server is gone")
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    os.execv(command[0], command)  # noqa: S606  # No shell, and the command is ours


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
