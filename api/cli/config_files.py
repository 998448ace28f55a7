"""A configuration as a directory of YAML in a bank's own git: written from an export, and read with every fault.

Layout  ``clearhold.yaml`` names the schema and the tenant; ``rules/``, ``policies/``, ``programs/SLUG/`` and
        ``webhooks/`` have a file for each setting. Other names at the top of the directory are left alone
YAML    is read as files of rules are: no anchors, tags or repeated keys. A file begins with its schema and ends with
        the line ``...``, so that one that was cut off is refused. ``clearhold.yaml`` is removed first and written last
Errors  ``ConfigDirError`` with everything that is wrong, each fault with its file, and its line where it has one
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.api.cli.rule_files import line_of
from clearhold.api.config.yaml_text import HEAD, written_file, written_head
from clearhold.api.http.yaml_documents import FaultyFileError, FileFault, read_yaml
from clearhold.features.configuration.files import MOST_FILES, SCHEMA, ConfigFile
from clearhold.store.given_files import MOST_GIVEN_BYTES, TooLargeError, read_given

FOLDERS: Final = ("policies", "programs", "rules", "webhooks")
MOST_BYTES: Final = 500_000
_END: Final = b"\n...\n"
_NOT_WHOLE: Final = "is missing: this is no configuration, or its export did not come to its end"
_FOREIGN: Final = "is no file of a configuration. Move it away, or write into another directory"
_SCHEMA_LINE: Final = f"schema: {SCHEMA}".encode()
_FRESH: Final = ".new"


class DirFault(NamedTuple):
    """A fault of a file; ``field`` is empty for the file as a whole, ``line`` None where it has none."""

    path: str
    sentence: str
    field: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {f'{self.field} {self.sentence}'.strip()}"


class ConfigDirError(Exception):
    """The faults of a directory, at least one."""

    def __init__(self, faults: Iterable[DirFault]) -> None:
        self.faults = tuple(faults)
        super().__init__(str(self.faults[0]))


class ReadConfig(NamedTuple):
    """A directory without a fault that its reader can see; ``lines`` has the line of each field by file."""

    tenant: str
    files: tuple[ConfigFile, ...]
    lines: Mapping[str, Mapping[str, int]]


def write_config(folder: Path, tenant: str, files: Iterable[ConfigFile]) -> None:
    """Write a configuration, and remove the files of one that was there before.

    ConfigDirError, and nothing is written, where its folders have anything else.
    """
    foreign = [path for path in _paths(folder) if not _is_of_configuration(path)]
    if foreign:
        raise ConfigDirError(DirFault(path.relative_to(folder).as_posix(), _FOREIGN) for path in foreign)
    texts = {file.path: written_file(file.value) for file in files}
    (folder / HEAD).unlink(missing_ok=True)
    for path in [*_paths(folder)]:
        if path.relative_to(folder).as_posix() not in texts:
            path.unlink()
    for name, text in texts.items():
        _write(folder / name, text)
    for path in sorted((each for each in folder.glob("programs/*") if each.is_dir()), reverse=True):
        if not any(path.iterdir()):
            path.rmdir()
    _write(folder / HEAD, written_head(tenant))


def read_config(folder: Path) -> ReadConfig:
    """The configuration of a directory. ConfigDirError with all its faults; OSError for one that cannot be read."""
    from clearhold.api.config.files import config_faults

    if not folder.is_dir():
        raise NotADirectoryError(None, "it is not a directory", str(folder))
    faults: list[DirFault] = []
    values: dict[str, dict[str, Any]] = {}
    lines: dict[str, Mapping[str, int]] = {}
    total = 0
    head = folder / HEAD
    if not (head.is_symlink() or head.exists()):
        raise ConfigDirError([DirFault(HEAD, _NOT_WHOLE)])
    for count, path in enumerate([head, *_paths(folder)]):
        name = path.relative_to(folder).as_posix()
        if count > MOST_FILES:
            faults.append(DirFault(name, f"is one too many: a configuration has at most {MOST_FILES:,} files"))
            break
        try:
            size, values[name], lines[name] = _read(path)
        except FaultyFileError as error:
            faults += [DirFault(name, each.sentence, each.path, each.line) for each in error.faults]
            continue
        total += size
    if total > MOST_BYTES:
        faults.append(DirFault(HEAD, f"has more than {MOST_BYTES:,} bytes of files beside it"))
    settings = values.pop(HEAD, None)
    if settings is not None:
        faults += [DirFault(HEAD, words, field) for field, words in _head_faults(settings)]
    for path_, failure in config_faults(values.items()):
        line = line_of(failure.path, lines[path_]) or None
        faults.append(DirFault(path_, failure.words, failure.path, line))
    if faults or settings is None:
        raise ConfigDirError(sorted(faults, key=lambda fault: (fault.path, fault.line or 0)))
    files = tuple(ConfigFile(path=name, value=value) for name, value in sorted(values.items()))
    return ReadConfig(settings["tenant"], files, lines)


def _head_faults(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not isinstance(settings.get("tenant"), str):
        yield "tenant", "must be the slug of the tenant"
    for name in settings.keys() - {"tenant"}:
        yield "", f"has an unknown field {name[:64]!a}"


def _paths(folder: Path) -> Iterator[Path]:
    """Everything in the folders of a configuration that is not a folder; links too, which are not followed."""
    for name in FOLDERS:
        top = folder / name
        if top.is_symlink():
            yield top
            continue
        for root, folders, files in os.walk(top):
            linked = [each for each in folders if (Path(root) / each).is_symlink()]
            yield from sorted(Path(root) / each for each in (*files, *linked))


def _read(path: Path) -> tuple[int, dict[str, Any], Mapping[str, int]]:
    """The bytes and the fields of a file without its schema, and the line of each field."""
    if path.is_symlink() or not path.is_file():
        raise FaultyFileError(_fault("is a link or no file, which is not followed"))
    try:
        raw = read_given(path)
        text = raw.decode()
    except TooLargeError as error:
        raise FaultyFileError(_fault(f"is over {MOST_GIVEN_BYTES:,} bytes")) from error
    except UnicodeDecodeError as error:
        raise FaultyFileError(_fault("is not UTF-8 text")) from error
    except OSError as error:
        raise FaultyFileError(_fault(f"cannot be read: {error.strerror}")) from error
    value, lines = read_yaml(text)
    if not raw.endswith(_END):
        raise FaultyFileError(_fault("does not end with the line ... and may be cut off"))
    if not isinstance(value, dict):
        raise FaultyFileError(_fault("must have fields"))
    if value.pop("schema", None) != SCHEMA:
        raise FaultyFileError(_fault(f"must begin with schema: {SCHEMA}"))
    try:
        msgspec.json.encode(value)
    except (UnicodeEncodeError, RecursionError) as error:
        raise FaultyFileError(_fault("has a text or a depth that no setting has")) from error
    return len(raw), value, lines


def _fault(sentence: str) -> FileFault:
    return FileFault("", sentence)


def _is_of_configuration(path: Path) -> bool:
    """Whether a file names the schema, or was left by a write that was cut off."""
    if path.is_symlink() or not path.is_file():
        return False
    if path.name.startswith(".") and path.name.endswith(_FRESH):
        return True
    try:
        return _SCHEMA_LINE in (line.rstrip() for line in read_given(path).splitlines())
    except TooLargeError:
        return False


def _write(path: Path, content: bytes) -> None:
    """Write a file that is not as it should be; a reader never sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and not path.is_symlink() and path.read_bytes() == content:
        return
    fresh = path.with_name(f".{path.name}{_FRESH}")
    fresh.write_bytes(content)
    fresh.replace(path)
