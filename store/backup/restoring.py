"""Puts a backup into a new data directory. The database is made from it afterwards, as by ``clearhold rebuild``.

The directory gets a log id of its own: from here on its log is another one than that of the service it was taken from.

Errors  ``StartupError`` for a backup that is not whole, a place that is taken, or a master key that does not fit
"""

import shutil
from pathlib import Path

import msgspec

from store.backup.manifest import Manifest, checked_manifest
from store.data_dir import LAYOUT, MASTER_KEY, StartupError, read_layout, read_master_key, write_layout
from store.durable_files import durable_file
from store.ids import new_id


def unpack(backup: Path, data: Path, *, master_key: Path | None, is_elsewhere: bool) -> Manifest:
    """Check backup and key, then copy the files; the layout comes last, so that an interrupted copy is no directory.

    ``is_elsewhere`` for a master key that the service reads from a place of its own.
    """
    manifest, layout = checked_manifest(backup), read_layout(backup)
    if data.exists() and any(data.iterdir()):
        raise StartupError(f"{data} is not empty. A backup is restored into a new or an empty folder.")
    if master_key is not None:
        read_master_key(master_key, layout.master_key_sha256, of=backup)
    elif MASTER_KEY not in manifest.files and not is_elsewhere:
        raise StartupError(f"{backup} was taken without {MASTER_KEY}: name your copy of it with --master-key.")
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in manifest.files:
        if name != LAYOUT:
            _copy(backup / name, data / name)
    if master_key is not None and not (data / MASTER_KEY).exists():
        _copy(master_key, data / MASTER_KEY)
    write_layout(data, msgspec.structs.replace(layout, log_id=new_id()))
    return manifest


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as bytes_of, durable_file(target) as file:
        shutil.copyfileobj(bytes_of, file)
    target.chmod(0o600)
