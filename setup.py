"""The build: what ``pyproject.toml`` says, and the deciding part compiled for those who ask for it.

Nothing is compiled unless ``CLEARHOLD_COMPILED`` is set (``make compiled``). Then mypyc makes one extension of the
modules of ``features`` that do the work; each of them stays what Python reads where the extension is not built.

A module stays interpreted when it holds a ``msgspec.Struct``, whose field types have to be there at run time, or writes
documentation.
"""

import os
import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
COMPILED = "features"
_HOLDS_STRUCTS = re.compile(r"^class \w+\(msgspec\.Struct\b", re.MULTILINE)
_OPTIMISATION = "1"  # the higher ones take several times as long to compile, and are 3 % faster


def modules() -> list[str]:
    """The modules that are compiled together, so that they call each other without Python's calling convention."""
    paths = sorted((ROOT / COMPILED).rglob("*.py"))
    return [str(path.relative_to(ROOT)) for path in paths if _is_compiled(path)]


def _is_compiled(path: Path) -> bool:
    if path.name in {"__init__.py", "docs_page.py"}:
        return False
    return _HOLDS_STRUCTS.search(path.read_text(encoding="utf-8")) is None


if os.environ.get("CLEARHOLD_COMPILED"):
    from mypyc.build import mypycify

    setup(ext_modules=mypycify(modules(), opt_level=_OPTIMISATION, debug_level="0", multi_file=True))
else:
    setup()
