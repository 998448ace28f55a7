"""The readers of docs/live.md, each run as it is printed, as the users that its commands create, on a real service."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.live.payloads import LiveKind
from clearhold.store.live.users import rules_of
from clearhold.store.redis_log.connect import connect_sync
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService
from tests.support.waiting import eventually

PAGE: Final = (Path(__file__).parents[3] / "docs" / "live.md").read_text(encoding="utf-8")
SNIPPETS: Final = re.findall(r"^```(python|js|json)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLE, READER, NODE, GROUP, *_ = (text for _, text in SNIPPETS)
CLEARHOLD: Final = Path(sys.executable).with_name("clearhold")


def user(data: Path, name: str, *options: str) -> str:
    """The password of a new user."""
    done = subprocess.run(
        [CLEARHOLD, "live", "user", name, "--data", str(data), *options], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def printed(output: Path) -> list[tuple[str, dict[str, Any]]]:
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    return [(line.split(" ", 1)[0], msgspec.json.decode(line.split(" ", 1)[1])) for line in lines]


def entries_of(service: RunningService, program_id: str) -> list[tuple[str, dict[str, Any]]]:
    with closing(connect_sync(service.data / "redis.sock")) as client:
        found: Any = client.xrange(f"out:{program_id}")
        return [(entry.decode(), msgspec.json.decode(fields[b"event"])) for entry, fields in found]


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBank]:
    with RunningService(tmp_path_factory.mktemp("live") / "data", "--scorers", "0") as service:
        yield RunningBank(service, "payroll")


def snapshots(bank: RunningBank, number: int) -> None:
    """Give the program this many events at least."""
    for _ in range(number):
        bank.ask("POST", f"/api/kri/snapshot/{bank.program['id']}")


def stored(place: Path) -> str | None:
    """The last id that the Python reader has stored."""
    return place.read_text().split()[-1] if place.exists() else None


def run(command: list[str], output: Path, until: Any) -> None:
    """Run a reader until what it printed is enough."""
    with output.open("ab") as file, subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT) as process:
        try:
            eventually(lambda: process.poll() is not None or until())
            assert process.poll() is None, output.read_text(encoding="utf-8")
        finally:
            process.kill()


def url_of(bank: RunningBank, name: str, password: str) -> str:
    return f"unix://{name}@{bank.service.data}/redis.sock?password={password}"


def test_given_the_python_reader_when_it_is_started_again_then_it_has_read_each_entry_once(
    bank: RunningBank, tmp_path: Path
) -> None:
    script, output, place = tmp_path / "reader.py", tmp_path / "output", tmp_path / "place"
    script.write_text(READER, encoding="utf-8")
    program = bank.program["id"]
    command = [sys.executable, str(script), url_of(bank, "feed", user(bank.service.data, "feed")), program, str(place)]
    for _ in range(2):
        snapshots(bank, 2)
        eventually(lambda: len(entries_of(bank.service, program)) >= 2)
        run(command, output, lambda: stored(place) == entries_of(bank.service, program)[-1][0])

    assert printed(output) == entries_of(bank.service, program)
    assert len(printed(output)) >= 4


def test_given_the_node_reader_then_it_reads_every_entry(bank: RunningBank, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on PATH: the reader of docs/live.md for Node is not run")
    script, output = tmp_path / "reader.mjs", tmp_path / "output"
    script.write_text(NODE, encoding="utf-8")
    program = bank.program["id"]
    password = user(bank.service.data, "node", "--program", program)
    snapshots(bank, 1)
    eventually(lambda: entries_of(bank.service, program))

    def has_all() -> bool:
        return printed(output) == entries_of(bank.service, program)

    run([node, str(script), f"{bank.service.data}/redis.sock", "node", password, program], output, has_all)


def test_given_two_readers_of_a_group_then_each_entry_goes_to_one_of_them(bank: RunningBank, tmp_path: Path) -> None:
    script = tmp_path / "group.py"
    script.write_text(GROUP, encoding="utf-8")
    program = bank.program["id"]
    url = url_of(bank, "cases", user(bank.service.data, "cases", "--groups"))
    outputs = [tmp_path / name for name in ("first", "second")]
    snapshots(bank, 2)

    def is_shared() -> bool:
        return sorted(each for output in outputs for each, _ in printed(output)) == [
            each for each, _ in entries_of(bank.service, program)
        ]

    command = [sys.executable, str(script), url, program]
    run([*command, "first"], outputs[0], is_shared)
    snapshots(bank, 2)
    run([*command, "second"], outputs[1], lambda: len(entries_of(bank.service, program)) >= 4 and is_shared())
    assert all(printed(output) for output in outputs)


def test_given_the_page_then_its_words_are_those_of_the_code() -> None:
    assert set(re.findall(r"^\| `([a-z]+\.[a-z]+)` \|", PAGE, re.MULTILINE)) == {kind.value for kind in LiveKind}
    acl = re.search(r"^ACL SETUSER feed reset on >PASSWORD (.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert acl is not None
    assert acl[1].split() == rules_of([], can_group=False)
    assert list(msgspec.json.decode(EXAMPLE)["data"])[:3] == ["scoreId", "subjectType", "subjectId"]


def test_given_a_removed_user_or_a_wrong_name_then_redis_does_not_know_it(bank: RunningBank) -> None:
    data = str(bank.service.data)
    user(bank.service.data, "gone")
    subprocess.run([CLEARHOLD, "live", "remove", "gone", "--data", data], check=True)
    with closing(connect_sync(bank.service.data / "redis.sock")) as client:
        users: Any = client.execute_command("ACL", "USERS")
    assert b"gone" not in users

    refused = subprocess.run([CLEARHOLD, "live", "user", "default", "--data", data], capture_output=True, check=False)
    assert refused.returncode == 2
    assert b"not default" in refused.stderr


def test_given_a_redis_near_its_limit_then_readiness_names_the_streams_and_the_service_stays_ready(
    bank: RunningBank,
) -> None:
    with closing(connect_sync(bank.service.data / "redis.sock")) as client:
        before = client.config_get("maxmemory")["maxmemory"] or "0"
        client.config_set("maxmemory", int(client.info("memory")["used_memory"] / 0.47))
        try:
            eventually(lambda: "live" in bank.ask("GET", "/readyz").get("degradedWork", ()))
            assert bank.ask("GET", "/readyz")["status"] == "ready"
        finally:
            client.config_set("maxmemory", before)
    eventually(lambda: "degradedWork" not in bank.ask("GET", "/readyz"))
