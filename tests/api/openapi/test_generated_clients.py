"""Clients that tools make of the OpenAPI document: they generate, install or compile, and ask a pre-flight.

The tools are installed once, under ``build/``: they are not dependencies of ours, and want other versions of them.
"""

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

import pytest

from tests.support.npm_packages import npm_installed
from tests.support.running_service import RunningService

ROOT: Final = Path(__file__).parents[3]
DOCUMENT: Final = ROOT / "docs" / "openapi.json"
OF_ADMINISTRATION: Final = ROOT / "docs" / "openapi-admin.json"
PROGRAMS: Final = ROOT / "tests" / "support" / "generated_clients"
TOOLS: Final = ROOT / "build" / "generators"
PYTHON_GENERATOR: Final = "openapi-python-client==0.29.1"
WITHIN_S: Final = 120
STRICTLY: Final = (
    "--strict",
    "--noEmit",
    "--target",
    "es2022",
    "--module",
    "nodenext",
    "--moduleResolution",
    "nodenext",
)
NOT_GENERATED: Final = {
    "/api/ingest/bank/{programId}/batch",
    "/api/record/export",
    "/api/entities/{entityId}/export",
    "/api/counterparties/{counterpartyId}/export",
}
"""Whose bodies are NDJSON alone, which openapi-python-client leaves out."""


IMPORT_ALL: Final = """
import pkgutil, sys
sys.path.insert(0, sys.argv[1])
import clearhold_client
names = [each.name for each in pkgutil.walk_packages(clearhold_client.__path__, "clearhold_client.")]
for name in names:
    __import__(name)
print(len(names))
"""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    ended = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=WITHIN_S, check=False
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def install(*command: str | Path, cwd: Path) -> None:
    """Skips where the tool cannot be had, with the words of whoever refused it."""
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    if ended.returncode:
        pytest.skip(f"{command[0]} cannot install the generator: {ended.stderr.strip()[-300:]}")


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of an environment that has the generator, and room for what it makes."""
    folder = TOOLS / f"python{sys.version_info.major}{sys.version_info.minor}-{PYTHON_GENERATOR.rpartition('=')[2]}"
    interpreter = folder / "bin" / "python"
    if not (folder / "complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        install(interpreter, "-m", "pip", "install", "--quiet", "--upgrade", PYTHON_GENERATOR, "setuptools", cwd=folder)
        (folder / "complete").touch()
    return interpreter


@pytest.fixture(scope="module")
def node_modules() -> Path:
    stated = (PROGRAMS / "package.json").read_text("utf-8")
    return npm_installed(TOOLS / "typescript", package_json=stated) / "node_modules"


def test_given_the_document_when_a_python_client_is_made_then_it_installs_and_asks_a_preflight(
    python: Path, tmp_path: Path
) -> None:
    client = tmp_path / "client"
    generator = python.with_name("openapi-python-client")
    report = run(generator, "generate", "--path", DOCUMENT, "--output-path", client, "--meta", "setup")
    run(python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", "--no-build-isolation", client)

    left_out = {line.split()[3] for line in report.splitlines() if line.startswith("WARNING")}
    assert left_out == NOT_GENERATED, report
    with RunningService(tmp_path / "data") as service:
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": "payroll", "name": "Payroll"})
        url = f"http://127.0.0.1:{service.port}"
        printed = run(python, PROGRAMS / "preflight.py", url, tenant["operatorToken"], "payroll")

    assert printed.split() == ["review", "validation_failed", "programId:required"]


@pytest.mark.parametrize(("document", "left_out"), [(DOCUMENT, NOT_GENERATED), (OF_ADMINISTRATION, set())])
def test_given_a_document_when_a_python_client_is_made_then_each_of_its_modules_can_be_imported(
    python: Path, tmp_path: Path, document: Path, left_out: set[str]
) -> None:
    client = tmp_path / "client"
    generator = python.with_name("openapi-python-client")
    report = run(generator, "generate", "--path", document, "--output-path", client, "--meta", "setup")

    assert "Unable to parse schema" not in report, report  # as for two schemas of one title
    schemas = json.loads(document.read_bytes())["components"]["schemas"]
    assert {line.split()[3] for line in report.splitlines() if line.startswith("WARNING")} == left_out, report
    assert int(run(python, "-c", IMPORT_ALL, client)) > len(schemas)


def test_given_the_document_when_a_typescript_client_is_made_then_a_right_preflight_compiles_and_a_wrong_one_not(
    node_modules: Path,
) -> None:
    folder, tools = node_modules.parent, node_modules / ".bin"
    right = (PROGRAMS / "preflight.ts").read_text("utf-8")
    (folder / "right.ts").write_text(right, "utf-8")
    (folder / "wrong.ts").write_text(right.replace('amountCents: "985000"', "amountCents: 985000"), "utf-8")
    run(tools / "openapi-typescript", DOCUMENT, "-o", "schema.d.ts", cwd=folder)

    compiled = subprocess.run(
        [tools / "tsc", *STRICTLY, "right.ts", "wrong.ts"], cwd=folder, capture_output=True, text=True, check=False
    )

    (error,) = (line for line in compiled.stdout.splitlines() if not line.startswith(" "))
    assert error.startswith("wrong.ts(")
    assert "Type 'number' is not assignable to type 'string'" in error
