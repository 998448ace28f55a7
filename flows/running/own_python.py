"""Starts Python processes that import the same modules as the service, from any working directory."""

import gc
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType


def module_command(name: str) -> list[str]:
    """Runs ``main`` of a module; ``-P``: never a module in the working directory."""
    return [sys.executable, "-P", "-m", __name__, name]


def import_environment() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(each or str(Path.cwd()) for each in sys.path)}


def loaded(name: str) -> ModuleType:
    """A module with all its imports; collecting garbage while they load would cost a sixth of the time of a start."""
    gc.disable()
    module = import_module(name)
    gc.freeze()
    gc.enable()
    return module


if __name__ == "__main__":
    loaded(sys.argv[1]).main()
