"""Starting Python processes of the service's own: they import what the service does, wherever it was started."""

import os
import sys
from pathlib import Path


def module_command(name: str) -> list[str]:
    """Runs a module; ``-P``: never one that lies in the working directory."""
    return [sys.executable, "-P", "-m", name]


def import_environment() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(each or str(Path.cwd()) for each in sys.path)}
