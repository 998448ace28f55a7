"""A folder as a sealed stream: the same files after it, and an error for any cut, change, or other master key."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.store.errors import StartupError
from clearhold.store.nodes import sealed_files as module
from clearhold.store.nodes.sealed_files import sealed_files, unseal_files

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
NAMES = ("layout.json", "record/t/a.jsonl", "lake/log/shard=00/day=2026-03-02/1-2.parquet")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "FRAME_BYTES", 1_000)
    for number, name in enumerate(NAMES):
        path = tmp_path / "from" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number]) * number * 1_700)
    return tmp_path / "from"


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def in_pieces(stream: bytes, size: int) -> Iterator[bytes]:
    return (stream[at : at + size] for at in range(0, len(stream), size))


@pytest.mark.parametrize("size", [1, 37, 1_000, 1_000_000])
def test_given_a_folder_when_sealed_and_received_in_pieces_then_its_files_are_the_same(
    folder: Path, tmp_path: Path, size: int
) -> None:
    stream = b"".join(sealed_files(folder, KEY))

    unseal_files(in_pieces(stream, size), tmp_path / "to", KEY)

    assert files_in(tmp_path / "to") == files_in(folder)
    assert b"layout" not in stream
    assert stream != b"".join(sealed_files(folder, KEY))


def test_given_another_master_key_then_nothing_is_written(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="another master key"):
        unseal_files(sealed_files(folder, KEY), tmp_path / "to", OTHER)

    assert not (tmp_path / "to").exists()


@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_given_a_stream_that_was_cut_or_changed_then_it_is_refused(
    folder: Path, tmp_path: Path, data: st.DataObject
) -> None:
    stream = bytearray(b"".join(sealed_files(folder, KEY)))
    at = data.draw(st.integers(0, len(stream) - 1))
    if data.draw(st.booleans()):
        del stream[at:]
    else:
        stream[at] ^= 1 << data.draw(st.integers(0, 7))

    with pytest.raises(StartupError):
        unseal_files([bytes(stream)], tmp_path / "to", KEY)


def test_given_frames_in_another_order_or_left_out_then_the_stream_is_refused(folder: Path, tmp_path: Path) -> None:
    salt, *frames = sealed_files(folder, KEY)
    assert len(frames) > 3

    for changed in ([frames[1], frames[0], *frames[2:]], [*frames[:1], *frames[2:]], [*frames[:2], *frames[1:]]):
        with pytest.raises(StartupError):
            unseal_files([salt, *changed], tmp_path / "to", KEY)
