"""The white space around the value of a header is no part of it: a proxy may add or remove it."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from msgspec import json

from tests.support.callers import TRANSFER, World, running_world
from tests.support.running_app import signature

SPACES: Final = [("", " "), ("", "\t"), ("", " \t "), (" ", ""), ("\t ", " ")]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("white-space")) as running:
        yield running


def raw_headers(headers: dict[str, str], before: str, after: str) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), f"{before}{value}{after}".encode()) for name, value in headers.items()]


def post(world: World, path: str, headers: list[tuple[bytes, bytes]], content: bytes) -> Any:
    return world.api.client.post(path, headers=headers, content=content)


@pytest.mark.parametrize(("before", "after"), SPACES)
def test_given_spaces_around_the_headers_of_a_caller_when_sent_then_they_mean_nothing(
    world: World, before: str, after: str
) -> None:
    token, key = world.tenant["operatorToken"], world.fresh()
    headers = {
        "Authorization": f"Bearer {token}",
        "X-Operator": "ann",
        "Idempotency-Key": key,
        "Content-Type": "application/json",
        "Score-Version": "2026-09-17",
        "X-Deadline-Ms": "60000",
        "X-Request-Id": f"request-{key}",
    }
    body = json.encode({"programId": world.payroll["id"], "transfer": TRANSFER})

    spaced = post(world, "/api/preflight", raw_headers(headers, before, after), body)
    plain = post(world, "/api/preflight", raw_headers(headers, "", ""), body)

    assert spaced.status_code == 201, spaced.text
    assert spaced.headers["X-Request-Id"] == f"request-{key}"
    assert (plain.content, plain.headers["Idempotent-Replayed"]) == (spaced.content, "true")
    read = world.api.client.get(
        f"/api/preflight/{spaced.json()['preflightId']}", headers=world.api.operator(world.tenant)
    )
    assert read.json()["request"]["operator"] == "ann"


@pytest.mark.parametrize(("before", "after"), SPACES)
def test_given_spaces_around_the_banks_headers_when_it_delivers_then_the_event_is_taken(
    world: World, before: str, after: str
) -> None:
    world.api.client.patch(
        f"/api/admin/programs/{world.spare_program['id']}",
        json={"webhookEndpointId": "whep_1"},
        headers=world.api.admin,
    )
    event = json.encode(
        {"id": f"evnt_{world.fresh()}", "type": "ping", "created_at": "2026-03-02T14:00:00Z", "data": {}}
    )
    signed = {"Bank-Signature": signature(world.spare_program["ingestSecret"], event), "Webhook-Endpoint-Id": "whep_1"}

    taken = post(world, f"/api/ingest/bank/{world.spare_program['id']}", raw_headers(signed, before, after), event)

    assert (taken.status_code, taken.json()) == (200, {"received": True, "duplicate": False})


@pytest.mark.parametrize("inner", ["an\tn", "ann\x0b"])
def test_given_other_white_space_or_spaces_inside_when_sent_then_they_count(world: World, inner: str) -> None:
    headers = {"Authorization": f"Bearer {world.tenant['operatorToken']}", "X-Operator": inner}

    answer = world.api.client.get("/api/programs", headers=raw_headers(headers, "", ""))

    assert answer.status_code == 400
