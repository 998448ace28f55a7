"""A wheel of this checkout, installed beside a package that has an ``api`` too: its commands and its client work."""

import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.running_service import free_port

ROOT = Path(__file__).parent.parent
BUILT_WITHIN_S = 240
DEMO_WITHIN_S = 240
OTHERS = {"api/__init__.py": "NAME = 'of somebody else'\n", "api/app.py": "raise SystemExit('not yours')\n"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what a clone has: files that git does not know are left out."""
    folder = tmp_path_factory.mktemp("wheel")
    clone = folder / "clone"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        source, copy = ROOT / name, clone / name
        if source.is_symlink() or source.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_symlink():
                copy.symlink_to(source.readlink())
            else:
                copy.write_bytes(source.read_bytes())
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(clone)], check=True, timeout=BUILT_WITHIN_S)
    (built,) = folder.glob("clearhold-*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, another package, and the dependencies of this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    interpreter = folder / "bin" / "python"
    packages = site_packages(interpreter)
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    for name, text in OTHERS.items():
        (packages / name).parent.mkdir(exist_ok=True)
        (packages / name).write_text(text, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(interpreter)]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    return interpreter


def site_packages(interpreter: Path) -> Path:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.run([interpreter, "-c", code], check=True, capture_output=True, text=True).stdout.strip())


def test_given_the_wheel_then_it_has_one_package_with_every_file_and_says_that_it_is_typed(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    files = {
        f"clearhold/{path.relative_to(ROOT)}"
        for room in ("api", "calibrate", "client", "demo", "features", "flows", "store")
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".so"}
    }

    assert tops == {"clearhold"}
    assert {"clearhold/py.typed", "clearhold/client/__init__.py", "clearhold/__init__.py"} <= names
    assert files <= names
    assert "clearhold/api/docs_page/redoc/LICENSE" in files


def test_given_another_package_with_an_api_then_both_are_imported_and_the_other_is_untouched(python: Path) -> None:
    imported = "import api, clearhold.api.app as app, clearhold.client as client"
    code = f"{imported}; print(api.NAME, client.__file__, app.__file__)"
    printed = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True, cwd=python.parent).stdout
    packages = site_packages(python)

    assert printed.startswith("of somebody else ")
    assert printed.count(str(packages / "clearhold")) == 2
    assert {name: (packages / name).read_text(encoding="utf-8") for name in OTHERS} == OTHERS


def test_given_the_wheel_when_the_demo_runs_from_it_then_money_moves_and_the_service_ends(
    python: Path, tmp_path: Path
) -> None:
    command = [str(python.with_name("clearhold")), "demo", "--data", str(tmp_path / "demo"), "--port", str(free_port())]
    options = ["--days", "2", "--seconds", "2", "--pace", "10", "--exit"]
    ended = subprocess.run(
        [*command, *options], capture_output=True, text=True, cwd=tmp_path, timeout=DEMO_WITHIN_S, check=False
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"payroll: .*(clear|review|unscored) \d", ended.stdout)
