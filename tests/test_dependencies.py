"""What is declared of other packages is true: the lower bounds run, and private names that are built on are there."""

import ast
import asyncio
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import pytest
import redis
import redis.asyncio
import uvicorn
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from clearhold.api.http.protocol import Protocol
from tests.api.preflight.test_preflight import TRANSFER
from tests.store.analysts.test_part_merger import LABELS, PARTS, ROWS, the_parts
from tests.support.lowest_bounds import lowest_python
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService

ROOT: Final = Path(__file__).parent.parent
ROOMS: Final = ("features", "store", "flows", "api", "calibrate", "client")
PROTOCOL: Final = ROOT / "api" / "http" / "protocol.py"
REQUEST: Final = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"

BUILT_ON: Final = {
    "htpy": {"_attrs", "_children", "_name", "_node"},
    "redis": {"_sock", "_writer"},
    "uvicorn": {"_types"},
}
"""The private names of other packages that are read, and what they are read of. uvicorn's class has a test below."""

CALLED_BY_UVICORN: Final = {"_start_asgi_task", "_unsupported_upgrade_warning", "send_400_response"}
CALLED_BY_PARSER_OR_LOOP: Final = {
    "connection_made",
    "connection_lost",
    "data_received",
    "on_body",
    "on_headers_complete",
    "on_message_begin",
    "on_message_complete",
    "on_response_complete",
}


PROGRAM: Final = f"""
import sys
from pathlib import Path
import clearhold.api.app, clearhold.api.cli.main, msgspec
from clearhold.store.analysts.tables import PartMerger
from clearhold.store.analysts.tables import lake_tables

columns = next(table.columns for table in lake_tables() if table.name == {LABELS.name!r})
merged, *parts = map(Path, sys.argv[1:])
print(msgspec.__version__, PartMerger().merge(parts, columns, merged))
"""


def declared() -> dict[str, SpecifierSet]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {each.name: each.specifier for each in map(Requirement, project["dependencies"])}


def declared_lower_bound(name: str) -> str:
    (bound,) = [Version(each.version) for each in declared()[name] if each.operator == ">="]
    return ".".join(map(str, (*bound.release, 0, 0)[:3]))


def private_names_of_others(path: Path) -> Iterator[str]:
    """Private modules and names that are imported of other packages, and what is excused as private of a class."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith(("clearhold.", "_")):
            names = (*node.module.split("."), *(alias.name for alias in node.names))
            yield from (name for name in names if re.fullmatch(r"_[a-z]\w*", name))
    for line in re.findall(r"^.*noqa: SLF001(?! - its own kind).*$", text, re.MULTILINE):
        yield from re.findall(r"\)?\.(_[a-z]\w*)", line)


@pytest.fixture
def plain() -> Iterator[HttpToolsProtocol]:
    """Uvicorn's own protocol, in the middle of a request."""

    async def answer(_scope: Any, _receive: Any, _send: Any) -> None:
        """No request is answered."""

    loop = asyncio.new_event_loop()
    protocol = HttpToolsProtocol(uvicorn.Config(answer, ws="none", log_config=None), ServerState(), {}, loop)
    protocol.connection_made(asyncio.Transport())
    protocol.data_received(REQUEST)
    yield protocol
    (task,) = protocol.tasks
    task.cancel()
    loop.run_until_complete(asyncio.wait([task]))
    loop.close()


def test_given_private_names_of_other_packages_then_their_packages_are_bounded_to_the_series_that_was_read() -> None:
    read = {name for room in ROOMS for path in (ROOT / room).rglob("*.py") for name in private_names_of_others(path)}

    assert read == set().union(*BUILT_ON.values())
    for name in BUILT_ON:
        (bound,) = [each.version for each in declared()[name] if each.operator == "<"]
        major, minor = map(int, bound.split("."))
        assert declared()[name].contains(f"{major}.{minor - 1}.9")
        assert not declared()[name].contains(f"{major}.{minor}")


def test_given_what_the_protocol_overrides_then_uvicorn_has_it_and_calls_it() -> None:
    theirs = {name: value for name, value in vars(HttpToolsProtocol).items() if callable(value)}
    overridden = {name for name, value in vars(Protocol).items() if callable(value) and name in theirs}
    called = {name for value in theirs.values() for name in value.__code__.co_names}

    assert overridden - {"__init__"} == CALLED_BY_UVICORN | CALLED_BY_PARSER_OR_LOOP
    assert called >= CALLED_BY_UVICORN


def test_given_what_the_protocol_uses_of_its_base_then_uvicorn_has_it(plain: HttpToolsProtocol) -> None:
    (ours,) = [
        node for node in ast.parse(PROTOCOL.read_text("utf-8")).body if getattr(node, "name", "") == Protocol.__name__
    ]
    attributes = [node for node in ast.walk(ours) if isinstance(node, ast.Attribute)]
    written = {ast.unparse(node) for node in attributes if isinstance(node.ctx, ast.Store)}
    used = {ast.unparse(node) for node in attributes} - {f"self.{name}" for name in vars(Protocol)}
    of_base = {name for name in used if re.fullmatch(r"(self|self\.cycle|cycle)\.\w+", name)}
    of_base -= {name for name in written if name.startswith("self._")}

    assert {"self._unset_keepalive_if_required", "self._get_upgrade", "self.cycle.on_response"} <= of_base
    for name in of_base:
        owner, _, attribute = name.rpartition(".")
        assert hasattr(plain if owner == "self" else plain.cycle, attribute), name


@pytest.mark.parametrize("kind", ["Connection", "SSLConnection", "UnixDomainSocketConnection"])
def test_given_a_connection_of_redis_then_the_names_that_are_read_of_it_are_there(kind: str) -> None:
    waiting, concurrent = getattr(redis, kind)(), getattr(redis.asyncio, kind)()

    assert waiting._sock is None
    assert concurrent._writer is None


def test_given_the_lowest_versions_that_are_declared_then_a_service_runs_on_them(tmp_path: Path) -> None:
    python = lowest_python(ROOT / "build" / "lowest")
    merged = [tmp_path / "merged.parquet", *the_parts(tmp_path, LABELS)]
    ended = subprocess.run([python, "-c", PROGRAM, *merged], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == [declared_lower_bound("msgspec"), str(PARTS * ROWS)]

    with RunningService(tmp_path / "data", "--scorers", "1", python=python) as service:
        bank = RunningBank(service, "payroll")
        asked = {"programSlug": "payroll", "transfer": TRANSFER}
        answer = cast("dict[str, Any]", bank.ask("POST", "/api/preflight", asked, expect=201))

        refused = bank.ask("POST", "/api/preflight", [], expect=400)

        assert refused["code"] == "validation_failed"
        assert service.ask("GET", "/readyz", {})["status"] == "ready"
        assert bank.ask("GET", f"/api/preflight/{answer['preflightId']}")["decision"] == answer["decision"]
