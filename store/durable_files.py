"""Files that are complete on disk or absent: written under another name, fsynced, renamed, folder fsynced; and digests
of whole files.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

UNFINISHED: Final = ".unfinished"


@contextmanager
def durable_file(path: Path) -> Iterator[BinaryIO]:
    """Open ``path`` for writing; it appears, complete, when the block ends without an error."""
    with durable_name(path) as unfinished, unfinished.open("wb") as file:
        yield file


@contextmanager
def durable_name(path: Path) -> Iterator[Path]:
    """A temporary name for the block to write to; the file is at ``path``, complete, after a block without an error."""
    make_durable_folder(path.parent)
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        yield unfinished
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    unfinished.replace(path)
    fsync_folder(path.parent)


def make_durable_folder(folder: Path) -> None:
    """Make a folder and its parents, durably."""
    if folder.is_dir():
        return
    make_durable_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    fsync_folder(folder.parent)


def remove_unfinished(folder: Path) -> None:
    """Remove half-written files of a crash anywhere below ``folder``."""
    for path in folder.rglob(f"*{UNFINISHED}"):
        path.unlink()


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
