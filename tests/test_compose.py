"""The container files say what the service needs. Their shape only: running them takes a container engine."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from store.redis_log.connect import REQUIRED_SETTINGS

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


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
    assert "ping" in compose["services"]["redis"]["healthcheck"]["test"]


def test_given_the_service_then_it_is_healthy_when_ready_on_the_port_it_listens_on(compose: dict[str, Any]) -> None:
    service = compose["services"]["clearhold"]

    assert "http://127.0.0.1:8080/readyz" in service["healthcheck"]["test"][-1]
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
    assert "pip install --require-hashes -r requirements.lock" in DOCKERFILE
    assert "\nUSER clearhold\n" in DOCKERFILE
