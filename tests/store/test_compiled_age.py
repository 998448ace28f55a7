"""Sources newer than their extensions are named, in a checkout."""

import os
from pathlib import Path

from store.compiled_age import changed_since_compiled


def a_checkout(folder: Path, *, compiled_at: int, changed_at: int) -> Path:
    extension = folder / "features" / "core" / "money.cpython-311-x86_64-linux-gnu.so"
    extension.parent.mkdir(parents=True)
    for file, at in ((extension, compiled_at), (extension.with_name("money.py"), changed_at)):
        file.touch()
        os.utime(file, (at, at))
    (folder / "setup.py").touch()
    return folder


def test_given_a_source_that_changed_since_it_was_compiled_then_the_source_is_named(tmp_path: Path) -> None:
    checkout = a_checkout(tmp_path, compiled_at=10, changed_at=20)

    assert changed_since_compiled(checkout) == ["features/core/money.py"]


def test_given_extensions_newer_than_their_sources_then_none_is_named(tmp_path: Path) -> None:
    checkout = a_checkout(tmp_path, compiled_at=20, changed_at=10)

    assert changed_since_compiled(checkout) == []


def test_given_an_installed_wheel_then_the_ages_of_its_files_say_nothing(tmp_path: Path) -> None:
    checkout = a_checkout(tmp_path, compiled_at=10, changed_at=20)
    (checkout / "setup.py").unlink()

    assert changed_since_compiled(checkout) == []
