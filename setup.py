"""The build: what ``pyproject.toml`` says, and the deciding part compiled for those who ask for it.

Nothing is compiled unless ``CLEARHOLD_COMPILED`` is set (``make compiled``). Then mypyc makes one extension of the
modules of ``features`` that do the work; each of them stays what Python reads where the extension is not built.

A module stays interpreted when it makes a class of ``msgspec.Struct`` itself, whose options and field types have to be
there at run time, or writes documentation. Classes made of ``InMemory`` inherit their options and are never decoded.
"""

import os
import re
from pathlib import Path

from setuptools import Extension, setup

COMPILED = Path("features")  # from the folder that is built, which is the one that setuptools runs in
_TOGETHER = "features.compiled"  # the extension that holds them all: features/compiled__mypyc.*.so
_HEADERS = "build/features"  # where mypyc writes those of a group in that package
_HOLDS_STRUCTS = re.compile(r"^class \w+\(msgspec\.Struct\b", re.MULTILINE)
# The higher ones take several times as long to compile, and are 3 % faster; the tests take none.
_OPTIMISATION = os.environ.get("CLEARHOLD_OPTIMISATION", "1")


def modules() -> list[str]:
    """The modules that are compiled together, so that they call each other without Python's calling convention."""
    return [str(path) for path in sorted(COMPILED.rglob("*.py")) if _is_compiled(path)]


def _is_compiled(path: Path) -> bool:
    if path.name in {"__init__.py", "docs_page.py"}:
        return False
    return _HOLDS_STRUCTS.search(path.read_text(encoding="utf-8")) is None


def extensions() -> list[Extension]:
    """The modules as one extension, which they load, and a small one each that stands beside its source."""
    from mypyc.build import mypycify  # noqa: PLC0415 - needed by those who compile

    made = mypycify(modules(), group_name=_TOGETHER, opt_level=_OPTIMISATION, debug_level="0", multi_file=True)
    for extension in made:
        extension.include_dirs.append(_HEADERS)
    return made


setup(ext_modules=extensions() if os.environ.get("CLEARHOLD_COMPILED") else [])
