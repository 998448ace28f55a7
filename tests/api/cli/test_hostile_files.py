"""Files that a person names and somebody else wrote: without an end, with endless lines, with names that lead out."""

import resource
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
import pytest
from typer.testing import CliRunner

from clearhold.api.cli import exports
from clearhold.api.cli.main import app
from clearhold.store.backup import FILE, VERSION, Manifest, checked_manifest
from clearhold.store.errors import StartupError
from tests.support.running_service import COMMAND

MEMORY_BYTES: Final = 4 << 30
WITHIN_S: Final = 60
KEYS: Final = b'{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}'


def run_bounded(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """In a process whose memory and time are bounded, for a reader that does not stop by itself."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    return subprocess.run(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
        preexec_fn=bound,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("rules", "check", "endless"), 1, "The file is over 1,048,576 bytes."),
        (("calibrate", "--vectors", "keys", "--card", "endless", "--out", "out"), 2, "it is over 1,048,576 bytes."),
        (("calibrate", "--vectors", "keys", "--champion", "endless", "--out", "out"), 2, "over 1,048,576 bytes."),
        (("verify", "keys", "endless"), 2, "it is over 1,048,576 bytes."),
        (("verify", "keys", "keys", "endless"), 2, "it is over 1,048,576 bytes."),
        (("verify", "endless", "keys"), 1, "Line 1: is over 16,777,216 bytes."),
    ],
)
def test_given_a_file_without_an_end_then_little_of_it_is_read_and_a_sentence_says_so(
    tmp_path: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "keys").write_bytes(KEYS)
    named = [tmp_path / each if each in {"endless", "keys", "out"} else each for each in arguments]

    result = run_bounded(*named)

    assert (result.returncode, "Traceback" in result.stderr) == (code, False)
    assert sentence in result.stderr


@pytest.mark.parametrize("over", [0, 1])
def test_given_an_export_with_a_long_line_then_it_is_read_up_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: int
) -> None:
    (tmp_path / "keys").write_bytes(KEYS)
    (tmp_path / "export").write_bytes(b"{" + b" " * 98 + b"}" * over + b"\n")
    monkeypatch.setattr(exports, "MOST_LINE_BYTES", 100)

    result = CliRunner().invoke(app, ["verify", str(tmp_path / "export"), str(tmp_path / "keys")])

    assert result.exit_code == 1
    assert ("is over 100 bytes" in result.stderr) == bool(over)


@pytest.mark.parametrize("name", ["../beside/file", "folder/../../beside/file", "{absolute}", "link", "linked/file"])
def test_given_a_backup_that_names_a_file_outside_of_it_when_checked_then_it_is_refused(
    tmp_path: Path, name: str
) -> None:
    folder, beside = tmp_path / "backup", tmp_path / "beside"
    for each in (folder / "folder", beside):
        each.mkdir(parents=True)
    (beside / "file").write_bytes(b"from outside")
    (folder / "link").symlink_to(beside / "file")
    (folder / "linked").symlink_to(beside)
    write_manifest(folder, name.format(absolute=beside / "file"), b"from outside")

    with pytest.raises(StartupError, match="is not a file of the backup"):
        checked_manifest(folder)


def test_given_a_backup_behind_a_link_when_checked_then_its_files_are_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    (folder / "lake").mkdir(parents=True)
    (folder / "lake" / "..file").write_bytes(b"inside")
    write_manifest(folder, "lake/..file", b"inside")
    (tmp_path / "link").symlink_to(folder)

    assert [*checked_manifest(tmp_path / "link").files] == ["lake/..file"]


def write_manifest(folder: Path, name: str, content: bytes) -> None:
    manifest = Manifest(
        version=VERSION,
        log_id="log",
        shards=1,
        taken_at="2026-03-02T15:00:00Z",
        entries=0,
        until={},
        files={name: sha256(content).hexdigest()},
    )
    (folder / FILE).write_bytes(msgspec.json.encode(manifest))
