"""The service's processes run its own code, also where a folder of another checkout is the working directory."""

import os
import subprocess
from pathlib import Path

from flows.own_python import import_environment, module_command


def test_given_a_package_of_the_same_name_in_the_working_directory_then_it_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "__init__.py").write_text("raise RuntimeError('a stranger')", encoding="utf-8")

    ended = subprocess.run(
        module_command("flows.epochs"), cwd=tmp_path, env=os.environ | import_environment(), check=False
    )

    assert ended.returncode == 0
