"""The container files say what the service needs. Their shape only: running them takes a container engine."""

import json
import re
import subprocess
import sys
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path
from threading import Thread
from typing import Any, Final, NamedTuple

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from clearhold.store.redis_log.connect import REQUIRED_SETTINGS

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SYSTEMS: Final = tuple(
    {"platform_python_implementation": "CPython", "implementation_name": "cpython", "sys_platform": name}
    for name in ("linux", "darwin", "win32")
)


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return found


def test_given_the_redis_beside_us_then_it_has_the_settings_that_start_up_demands(compose: dict[str, Any]) -> None:
    program, *words = compose["services"]["redis"]["command"]
    settings = dict(zip(words[::2], words[1::2], strict=True))

    assert program == "redis-server"
    assert {name: settings[f"--{name}"] for name in REQUIRED_SETTINGS} == REQUIRED_SETTINGS
    assert compose["services"]["redis"]["image"] == "redis:8"


def test_given_the_service_then_it_uses_that_redis_and_waits_for_it(compose: dict[str, Any]) -> None:
    service = compose["services"]["clearhold"]

    assert service["environment"]["CLEARHOLD_REDIS_URL"] == "redis://redis:6379/0"
    assert service["depends_on"]["redis"]["condition"] == "service_healthy"
    assert "redis-cli ping" in compose["services"]["redis"]["healthcheck"]["test"][-1]


def test_given_the_service_then_it_is_healthy_when_ready_on_the_port_it_listens_on(compose: dict[str, Any]) -> None:
    service = compose["services"]["clearhold"]

    assert "healthcheck" not in service, "the image has it"
    assert service["ports"] == ["127.0.0.1:8080:8080"]
    assert '"--host", "0.0.0.0", "--port", "8080"' in DOCKERFILE


def test_given_what_must_outlive_a_container_then_it_lies_on_a_named_volume(compose: dict[str, Any]) -> None:
    mounted = {
        volume.split(":")[0]: volume.split(":")[1]
        for service in compose["services"].values()
        for volume in service["volumes"]
    }

    assert mounted == {"clearhold-data": "/var/lib/clearhold", "redis-data": "/data"}
    assert set(compose["volumes"]) == set(mounted)
    assert '"--data", "/var/lib/clearhold"' in DOCKERFILE


def test_given_the_image_then_it_holds_every_room_pinned_dependencies_and_no_root_user() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rooms = [pattern.rstrip("*") for pattern in project["tool"]["setuptools"]["packages"]["find"]["include"]]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert rooms
    for room in rooms:
        assert f"COPY {room} {room}\n" in DOCKERFILE
        assert f"!{room}" in ignored
    assert "pip install --require-hashes -r requirements.runtime.lock" in DOCKERFILE
    assert "\nUSER 10001:10001\n" in DOCKERFILE
    assert f'image.version="{project["project"]["version"]}"' in DOCKERFILE
    assert "\nVOLUME /var/lib/clearhold\n" in DOCKERFILE


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_given_an_answer_of_readyz_when_the_image_is_checked_then_only_200_is_healthy(status: int, code: int) -> None:
    command = json.loads(re.search(r"^HEALTHCHECK .*\\\n *CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[1])  # type: ignore[index]
    program, options, script = command
    paths: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(status)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.handle_request, daemon=True).start()
        script = script.replace("8080", str(server.server_address[1]))
        ended = subprocess.run([sys.executable, options, script], check=False, timeout=20)

    assert program == "python"
    assert (ended.returncode, paths) == (code, ["/readyz"])


def test_given_the_runtime_lock_then_it_has_what_runs_in_the_versions_of_the_whole_lock_and_no_tools() -> None:
    whole, runtime = pins("requirements.lock"), pins("requirements.runtime.lock")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tools = set(map(name_of, project["optional-dependencies"]["dev"]))

    names = {name_of(pin) for pin, _ in runtime}

    assert runtime
    for system in SYSTEMS:
        assert not needed_on(system, runtime) - needed_on(system, whole)
    assert needed_by(project["dependencies"]) <= names
    assert names & tools <= {"setuptools"}, "which dependencies need"


def test_given_a_container_then_it_writes_to_its_volume_only_and_has_no_rights_and_limits(
    compose: dict[str, Any],
) -> None:
    for service in compose["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["mem_limit"]
        assert service["pids_limit"]
    assert "cap_add" not in compose["services"]["clearhold"]
    assert compose["services"]["clearhold"]["environment"]["CLEARHOLD_METRICS_HOST"] == "0.0.0.0"  # noqa: S104
    assert compose["services"]["clearhold"]["ports"] == ["127.0.0.1:8080:8080"]


class LockedPackage(NamedTuple):
    """A name with its version, and the marker of the systems that need it."""

    pin: str
    marker: str


def pins(lock: str) -> set[LockedPackage]:
    lines = re.findall(r"^(\S+==\S+)(?: ; (.+?))? \\$", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE)
    return {LockedPackage(pin, marker) for pin, marker in lines}


def needed_on(system: dict[str, str], packages: set[LockedPackage]) -> set[str]:
    """What a lock installs there, with its version."""
    return {each.pin for each in packages if not each.marker or Marker(each.marker).evaluate(system)}


def name_of(requirement: str) -> str:
    return canonicalize_name(re.split(r"[^\w.-]", requirement)[0])


def needed_by(requirements: list[str]) -> set[str]:
    """What these need on this machine, and what that needs, as it is installed here."""
    needed: set[str] = set()
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        each = waiting.pop()
        name = name_of(each.name)
        of_it = [Requirement(further) for further in metadata.requires(name) or []]
        extras = [{"extra": extra} for extra in ("", *each.extras)]
        further = [one for one in of_it if one.marker is None or any(map(one.marker.evaluate, extras))]
        waiting += [one for one in further if name_of(one.name) not in needed]
        needed.add(name)
    return needed


NODES: Final[dict[str, Any]] = yaml.safe_load((ROOT / "deploy" / "compose.nodes.yml").read_text(encoding="utf-8"))
SERVERS: Final = tuple(name for name in NODES["services"] if name.startswith("redis-"))


@pytest.mark.parametrize("name", SERVERS)
def test_given_two_nodes_then_each_redis_has_the_settings_that_start_up_demands(name: str) -> None:
    program, *words = NODES["services"][name]["command"]
    settings = dict(zip(words[::2], words[1::2], strict=True))

    assert program == "redis-server"
    assert {each: settings[f"--{each}"] for each in REQUIRED_SETTINGS} == REQUIRED_SETTINGS
    assert settings["--replica-announce-ip"] == name == NODES["services"][name]["hostname"]
    assert settings.get("--replicaof") == (None if name == "redis-1" else "redis-1 6379")


def test_given_two_nodes_then_they_share_a_log_with_fewer_confirmations_than_replicas_and_a_key_but_no_directory() -> (
    None
):
    nodes = [NODES["services"][name] for name in ("clearhold-1", "clearhold-2")]
    sentinels = [name for name in NODES["services"] if name.startswith("sentinel-")]
    hosts = ",".join(f"{name}:26379" for name in sentinels)

    assert len(sentinels) == 3
    for node in nodes:
        environment = node["environment"]
        assert environment["CLEARHOLD_REDIS_URL"] == f"redis+sentinel://{hosts}/clearhold"
        assert 0 < int(environment["CLEARHOLD_REDIS_REPLICAS"]) < len(SERVERS) - 1  # one of them may be lost
        assert environment["CLEARHOLD_MASTER_KEY_FILE"] == "/keys/master.key"
        assert "keys:/keys:ro" in node["volumes"]
        assert "/healthz" in node["healthcheck"]["test"][-1]
    assert nodes[0]["environment"].keys() == nodes[1]["environment"].keys()
    assert set(nodes[0]["volumes"]) & set(nodes[1]["volumes"]) == {"keys:/keys:ro"}
    assert "clearhold join --from http://clearhold-1:8080 --data" in nodes[1]["command"][0]


def test_given_the_containers_of_two_nodes_then_none_has_more_rights_than_it_needs() -> None:
    for name, service in NODES["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"], name
        assert service["pids_limit"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        assert ("cap_add" in service) == (name in SERVERS or name == "keys"), name
