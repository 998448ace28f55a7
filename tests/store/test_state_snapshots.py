"""A state snapshot reads back whole, or an older one is used."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.store.state_snapshots import StateSnapshots


@pytest.fixture
def snapshots(tmp_path: Path) -> StateSnapshots:
    return StateSnapshots(tmp_path / "checkpoints", format_version=3)


NEWEST = 2**64


def read_back(snapshots: StateSnapshots, shard: int) -> tuple[int, bytes] | None:
    read = snapshots.newest(shard, upto=NEWEST)
    return None if read is None else (read[0], bytes(read[1]))


def test_given_no_snapshot_then_there_is_no_newest(snapshots: StateSnapshots) -> None:
    assert snapshots.newest(0, upto=NEWEST) is None


@given(chunks=st.lists(st.binary(max_size=50), max_size=5), offset=st.integers(min_value=0, max_value=2**63 - 1))
def test_given_any_state_when_written_then_it_reads_back(
    chunks: list[bytes], offset: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    snapshots = StateSnapshots(tmp_path_factory.mktemp("any"), format_version=1)

    snapshots.write(7, offset, iter(chunks))

    assert read_back(snapshots, 7) == (offset, b"".join(chunks))


def test_given_more_than_are_kept_then_the_oldest_go_and_other_shards_stay(snapshots: StateSnapshots) -> None:
    snapshots.write(1, 5, [b"other shard"])

    paths = [snapshots.write(0, offset, [b"%d" % offset]) for offset in (9, 10, 100)]

    assert [path.exists() for path in paths] == [False, True, True]
    assert read_back(snapshots, 0) == (100, b"100")
    assert read_back(snapshots, 1) == (5, b"other shard")


@pytest.mark.parametrize("at", [0, 40, 70, -40, -1])
def test_given_a_flipped_byte_then_the_older_one_is_used_and_the_damaged_one_set_aside(
    snapshots: StateSnapshots, at: int
) -> None:
    snapshots.write(0, 1, [b"older"])
    newest = snapshots.write(0, 2, [b"newer" * 20])
    content = bytearray(newest.read_bytes())
    content[at] ^= 1
    newest.write_bytes(content)

    assert read_back(snapshots, 0) == (1, b"older")
    assert not newest.exists()
    assert newest.with_name(newest.name + ".damaged").exists()


def test_given_a_file_cut_anywhere_then_the_older_one_is_used(snapshots: StateSnapshots) -> None:
    snapshots.write(0, 1, [b"older"])
    path = snapshots.write(0, 2, [b"newer"])
    whole = path.read_bytes()

    for length in range(len(whole)):
        path.write_bytes(whole[:length])

        assert read_back(snapshots, 0) == (1, b"older")


def test_given_a_snapshot_under_the_name_of_another_shard_then_it_is_not_used(snapshots: StateSnapshots) -> None:
    path = snapshots.write(0, 2, [b"shard 0"])

    path.rename(path.with_name(path.name.replace("shard-00", "shard-01")))

    assert snapshots.newest(1, upto=NEWEST) is None


def test_given_another_format_then_its_files_are_ignored_and_go_once_this_one_has_enough_of_its_own(
    tmp_path: Path,
) -> None:
    older, newer, other_shard = (
        StateSnapshots(tmp_path, format_version=version).write(shard, 2, [b"another format"])
        for version, shard in ((9, 0), (11, 0), (9, 1))
    )
    snapshots = StateSnapshots(tmp_path, format_version=10)

    assert snapshots.newest(0, upto=NEWEST) is None
    snapshots.write(0, 3, [b"format 10"])
    assert older.exists()
    snapshots.write(0, 4, [b"format 10"])
    assert not older.exists()
    assert newer.exists()
    assert other_shard.exists()
    assert read_back(snapshots, 0) == (4, b"format 10")


def test_given_a_state_that_fails_midway_then_the_last_snapshot_stands_and_nothing_else_is_left(
    snapshots: StateSnapshots, tmp_path: Path
) -> None:
    kept = snapshots.write(0, 1, [b"good"])

    def failing() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("the state would not say")

    with pytest.raises(RuntimeError, match="would not say"):
        snapshots.write(0, 2, failing())

    assert read_back(snapshots, 0) == (1, b"good")
    assert list((tmp_path / "checkpoints").iterdir()) == [kept]


def test_given_a_crash_while_writing_then_the_half_is_removed_at_the_next_start(tmp_path: Path) -> None:
    half = tmp_path / "shard-00.v1.00000000000000000002.checkpoint.unfinished"
    half.write_bytes(b"half")

    assert StateSnapshots(tmp_path, format_version=1).newest(0, upto=NEWEST) is None
    assert not half.exists()
