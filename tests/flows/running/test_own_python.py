"""The service's processes run its own code, also where a folder of another checkout is the working directory."""

import os
import subprocess
import sys
from pathlib import Path

from clearhold.flows.running.own_python import import_environment, module_command


def test_given_a_package_of_the_same_name_in_the_working_directory_then_it_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "__init__.py").write_text("raise RuntimeError('a stranger')", encoding="utf-8")

    ended = subprocess.run(
        module_command("clearhold.flows.backfill.page_scoring"),
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env=os.environ | import_environment(),
        check=False,
    )

    assert ended.returncode == 0


def test_given_a_module_when_it_is_loaded_then_garbage_is_looked_for_again_and_none_of_it_is_looked_through() -> None:
    program = "import gc, sys; from clearhold.flows.running.own_python import loaded; "
    program += "loaded('clearhold.flows.commit.committer'); "
    program += "sys.exit(not (gc.isenabled() and gc.get_freeze_count() > 1_000))"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
