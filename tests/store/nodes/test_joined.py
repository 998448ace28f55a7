"""Whether a data directory may stand by for its log."""

import shutil
from pathlib import Path

from clearhold.store.data_dir import DataDir
from clearhold.store.nodes.joined import FILE, is_joined, mark_joined


def made(folder: Path) -> Path:
    DataDir.open(folder).close()
    return folder


def test_given_a_marked_directory_then_it_has_joined_and_a_copy_of_it_has_not(tmp_path: Path) -> None:
    one = made(tmp_path / "one")
    assert not is_joined(one)

    mark_joined(one)
    assert is_joined(one)
    assert not is_joined(Path(shutil.copytree(one, tmp_path / "two")))
    assert is_joined(one)


def test_given_the_file_of_another_log_or_a_damaged_one_then_the_directory_has_not_joined(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one"), made(tmp_path / "other")
    mark_joined(one)
    (other / FILE).write_bytes((one / FILE).read_bytes())
    assert not is_joined(other)

    (one / FILE).write_bytes(b"{")
    assert not is_joined(one)
    mark_joined(one)
    assert is_joined(one)
