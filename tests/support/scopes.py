"""Which tests stay in one process: those of a file, and those of all files that read the console's demo."""

from functools import cache
from pathlib import Path
from typing import Final

from xdist.scheduler import LoadFileScheduling

CONSOLE: Final = Path(__file__).parents[1] / "console"
_ASKS, _MAKES = "demo: ConsoleDemo", "def demo("


class ByFileAndDemo(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist is untyped
    """A demo takes longer to start than most files take, and each process that runs a file of its tests starts one."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(super()._split_scope(nodeid))


def scope_of(file: str) -> str:
    """The name of the group that a file of tests, as in its ids, is run with."""
    folder, _, name = file.rpartition("/")
    return f"{folder}/demo" if folder.endswith("tests/console") and name in readers_of_the_demo() else file


@cache
def readers_of_the_demo() -> frozenset[str]:
    """Files that ask for the demo of ``tests/console/conftest.py`` and have none of their own."""
    texts = {path.name: path.read_text("utf-8") for path in CONSOLE.glob("test_*.py")}
    return frozenset(name for name, text in texts.items() if _ASKS in text and _MAKES not in text)
