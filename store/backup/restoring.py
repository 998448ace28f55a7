"""Puts a backup into a new data directory. The database is made from it afterwards, as by ``clearhold rebuild``.

The directory gets a new log id: from here on its log is separate from that of the original service.

Errors  ``StartupError`` for an incomplete backup, a used folder, or a master key that does not fit
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import redis

from clearhold.store.backup.manifest import Manifest, checked_manifest
from clearhold.store.data_dir import LAYOUT, MASTER_KEY, DataDirInUseError, read_layout, read_master_key, write_layout
from clearhold.store.durable_files import durable_file
from clearhold.store.errors import StartupError
from clearhold.store.ids import new_id


@contextmanager
def unpacked(backup: Path, data: Path, *, master_key: Path | None, is_elsewhere: bool) -> Iterator[Manifest]:
    """Check backup and key, then copy the files; a later failure empties the folder again, unless another process has
    taken it meanwhile.

    The layout comes last, so that an interrupted copy is no directory. ``is_elsewhere`` for a master key outside of
    the directory.
    """
    manifest, layout = checked_manifest(backup), read_layout(backup)
    if data.exists() and any(data.iterdir()):
        raise StartupError(f"{data} is not empty. A backup is restored into a new or an empty folder.")
    if master_key is not None:
        read_master_key(master_key, layout.master_key_sha256, of=backup)
    elif MASTER_KEY not in manifest.files and not is_elsewhere:
        raise StartupError(f"{backup} was taken without {MASTER_KEY}: name your copy of it with --master-key.")
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        for name in manifest.files:
            if name != LAYOUT:
                _copy(backup / name, data / name)
        if master_key is not None and not (data / MASTER_KEY).exists():
            _copy(master_key, data / MASTER_KEY)
        write_layout(data, msgspec.structs.replace(layout, log_id=new_id()))
        yield manifest
    except DataDirInUseError:
        raise  # another process was faster and uses the folder
    except BaseException:
        for each in data.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        raise


def require_empty(client: redis.Redis) -> None:
    """Refuse a named Redis that is not empty: its data belong to another log or another user."""
    if client.dbsize():
        raise StartupError(
            "The Redis at CLEARHOLD_REDIS_URL is not empty. A backup is restored beside an empty one: name another, or "
            "unset the variable for the directory's own."
        )


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as bytes_of, durable_file(target) as file:
        shutil.copyfileobj(bytes_of, file)
    target.chmod(0o600)
