"""The contents of a backup: every file with its digest. It is written last, so a backup without one is incomplete.

File    ``backup.json`` in the folder of the backup
Errors  ``StartupError`` for a backup that is incomplete, or was changed
"""

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from clearhold.store.durable_files import durable_file
from clearhold.store.errors import StartupError

FILE: Final = "backup.json"
VERSION: Final = 1


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``entries`` is the number of log entries, ``until`` the offset of each shard's last one."""

    version: int
    log_id: str
    shards: int
    taken_at: str
    entries: int
    until: dict[str, int]
    files: dict[str, str]


def digests_of(folder: Path) -> dict[str, str]:
    """SHA-256 of each file below ``folder``, by its path there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != FILE)
    return {str(path.relative_to(folder)): _sha256(path) for path in files}


def write_manifest(folder: Path, manifest: Manifest) -> None:
    with durable_file(folder / FILE) as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")


def checked_manifest(folder: Path) -> Manifest:
    """The manifest of a backup whose files are all unchanged."""
    try:
        manifest = msgspec.json.decode((folder / FILE).read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise StartupError(f"{folder} is no backup, or one that was not finished: it has no {FILE}.") from None
    except msgspec.MsgspecError as error:
        raise StartupError(f"{folder / FILE} is damaged: {error}.") from error
    if manifest.version != VERSION:
        raise StartupError(f"{folder} was made by another version of Clearhold.")
    for name, digest in manifest.files.items():
        path = folder / name
        if not path.is_file() or _sha256(path) != digest:
            raise StartupError(f"{path} is missing from the backup, or was changed. Use another backup.")
    return manifest


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
