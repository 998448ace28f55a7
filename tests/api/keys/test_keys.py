"""API keys: made, shown once, used, limited, revoked; and what a key's name is on the record."""

import re
from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

import pytest

from clearhold.store.control.credential_registry import MOST_KEYS
from tests.support.callers import TRANSFER, UNKNOWN_ID, World, bearer, running_world, sha256_of
from tests.support.running_app import assert_refused

FIELDS: Final = {
    "id",
    "name",
    "mode",
    "prefix",
    "programId",
    "scopes",
    "lastUsedAt",
    "revokedAt",
    "createdAt",
}
SCOPES: Final = (
    "preflight",
    "alerts:read",
    "alerts:decide",
    "actions",
    "reports",
    "record",
    "rules",
    "policies",
    "webhooks",
    "labels",
    "proofs",
    "sandbox",
    "connector",
)
INSTANT: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("keys")) as running:
        yield running


def operators(world: World, method: str, path: str, **sent: Any) -> Any:
    return world.send(method, path, world.callers["operator"].headers, **sent)


def listed(world: World) -> list[dict[str, Any]]:
    answer = operators(world, "GET", "/api/keys")
    assert answer.status_code == 200
    keys: list[dict[str, Any]] = answer.json()
    return keys


def found(world: World, key: dict[str, Any]) -> dict[str, Any]:
    (one,) = [each for each in listed(world) if each["id"] == key["id"]]
    return one


def used(world: World, key: dict[str, Any], path: str = "/api/programs", *, operator: str | None = None) -> Any:
    return world.send("GET", path, bearer(key["secret"], operator))


def asked(world: World, headers: Any, program: dict[str, Any] | None = None) -> Any:
    body = {"programId": (program or world.payroll)["id"], "transfer": TRANSFER}
    return world.send("POST", "/api/preflight", headers, json=body)


@pytest.mark.parametrize("mode", ["test", "live"])
def test_given_a_name_and_a_mode_when_a_key_is_made_then_the_rest_has_its_defaults(world: World, mode: str) -> None:
    answer = operators(world, "POST", "/api/keys", json={"name": "Payroll robot", "mode": mode})

    key = answer.json()
    secret = key["secret"]
    assert answer.status_code == 201
    assert set(key) == FIELDS | {"secret"}
    assert re.fullmatch(mode + r"_[0-9A-Za-z]{43}", secret)
    assert key["prefix"] == secret[:12]
    assert str(UUID(key["id"])) == key["id"]
    assert re.fullmatch(INSTANT, key["createdAt"])
    assert (key["name"], key["mode"], key["programId"], key["scopes"]) == ("Payroll robot", mode, None, [])
    assert (key["lastUsedAt"], key["revokedAt"]) == (None, None)


def test_given_a_key_when_listed_then_everything_but_its_secret_is_there_newest_first(world: World) -> None:
    made = [
        world.key_of(world.tenant, programId=program["id"], mode=mode, scopes=scopes)
        for program, mode, scopes in (
            (world.payroll, "live", ["preflight"]),
            (world.simulated, "test", list(SCOPES)),
        )
    ]

    answer = operators(world, "GET", "/api/keys")

    assert answer.json()[:2] == [
        {name: value for name, value in key.items() if name != "secret"} for key in reversed(made)
    ]
    assert not [key for key in made if key["secret"] in answer.text or sha256_of(key["secret"]) in answer.text]
    created = [key["createdAt"] for key in answer.json()]
    assert created == sorted(created, reverse=True)


def test_given_twenty_keys_when_made_then_no_two_secrets_are_alike(world: World) -> None:
    keys = [world.key_of(world.tenant, name="same name") for _ in range(20)]

    assert len({key["secret"] for key in keys}) == len({key["id"] for key in keys}) == 20


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"name": None}, "name"),
        ({"name": ""}, "name"),
        ({"name": 5}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "x" * 8_001}, "name"),
        ({"mode": "LIVE"}, "mode"),
        ({"mode": None}, "mode"),
        ({"mode": "sandbox"}, "mode"),
        ({"programId": "payroll"}, "programId"),
        ({"programId": ""}, "programId"),
        ({"programId": 5}, "programId"),
        ({"scopes": "preflight"}, "scopes"),
        ({"scopes": ["everything"]}, "scopes[0]"),
        ({"scopes": ["preflight", "Preflight"]}, "scopes[1]"),
        ({"scopes": [None]}, "scopes[0]"),
        ({"scopes": None}, "scopes"),
        ({"secret": "live_mine"}, "secret"),
        ({"prefix": "live_mine"}, "prefix"),
        ({"id": UNKNOWN_ID}, "id"),
        ({"revokedAt": None}, "revokedAt"),
        ({"tenantId": UNKNOWN_ID}, "tenantId"),
    ],
)
def test_given_a_bad_field_when_a_key_is_made_then_400_names_it(
    world: World, change: dict[str, Any], path: str
) -> None:
    before = listed(world)

    answer = operators(world, "POST", "/api/keys", json={"name": "k", "mode": "live"} | change)

    assert_refused(answer, 400)
    assert answer.json()["error"].startswith(f"Validation failed: {path} ")
    assert listed(world) == before


def test_given_many_bad_fields_when_a_key_is_made_then_all_are_listed(world: World) -> None:
    answer = operators(world, "POST", "/api/keys", json={"scopes": ["x"], "odd": 1, "programId": "p"})

    assert_refused(answer, 400)
    paths = {part.split(" ")[0] for part in answer.json()["error"].removeprefix("Validation failed: ").split("; ")}
    assert paths == {"name", "mode", "scopes[0]", "odd", "programId"}


@pytest.mark.parametrize("whose", ["theirs", "unknown"])
def test_given_a_program_that_is_not_this_tenants_when_a_key_is_made_then_404(world: World, whose: str) -> None:
    program_id = world.theirs["id"] if whose == "theirs" else UNKNOWN_ID
    before = listed(world)

    answer = operators(world, "POST", "/api/keys", json={"name": "k", "mode": "live", "programId": program_id})

    assert_refused(answer, 404, "Unknown program on this tenant.")
    assert listed(world) == before


@pytest.mark.parametrize("caller", ["live key", "test key", "key of the program", "key with the scopes"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/api/keys"), ("GET", "/api/keys"), ("DELETE", "/api/keys/{}")])
def test_given_a_key_when_it_manages_keys_then_403_and_nothing_changes(
    world: World, method: str, path: str, caller: str
) -> None:
    key = world.key_of(world.tenant)
    before = listed(world)
    body = {"json": {"name": "k", "mode": "live"}} if method == "POST" else {}
    headers = [*world.callers[caller].headers, ("X-Operator", "ann")]

    answer = world.send(method, path.format(key["id"]), headers, **body)

    assert_refused(answer, 403)
    assert [each["id"] for each in listed(world)] == [each["id"] for each in before]
    assert found(world, key)["revokedAt"] is None


def test_given_a_key_when_revoked_then_its_next_request_is_401_and_it_stays_on_the_list(world: World) -> None:
    key, kept = world.key_of(world.tenant), world.key_of(world.tenant)
    assert used(world, key).status_code == 200

    revoked = operators(world, "DELETE", f"/api/keys/{key['id']}")
    after = used(world, key)

    assert revoked.status_code == 200
    assert set(revoked.json()) == FIELDS
    assert re.fullmatch(INSTANT, revoked.json()["revokedAt"])
    assert_refused(after, 401)
    assert after.headers["www-authenticate"] == "Bearer"
    assert used(world, kept).status_code == 200
    assert found(world, key)["revokedAt"] == revoked.json()["revokedAt"]
    assert found(world, kept)["revokedAt"] is None


def test_given_a_revoked_key_when_revoked_again_then_the_first_time_stays(world: World) -> None:
    key = world.key_of(world.tenant)

    answers = [operators(world, "DELETE", f"/api/keys/{key['id']}") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize("key_id", [UNKNOWN_ID, "not-a-uuid", "theirs"])
def test_given_a_key_that_is_not_this_tenants_when_revoked_then_404_and_it_still_works(
    world: World, key_id: str
) -> None:
    theirs = world.key_of(world.other)
    unknown = operators(world, "DELETE", f"/api/keys/{UNKNOWN_ID}").json()["error"]

    answer = operators(world, "DELETE", f"/api/keys/{theirs['id'] if key_id == 'theirs' else key_id}")

    assert_refused(answer, 404)
    assert answer.json()["error"] == unknown
    assert used(world, theirs).status_code == 200


def test_given_a_key_when_used_then_the_time_is_kept(world: World) -> None:
    key, idle = world.key_of(world.tenant), world.key_of(world.tenant)
    assert found(world, key)["lastUsedAt"] is None

    used(world, key)
    first = found(world, key)["lastUsedAt"]
    world.api.clock.advance(3_600_000_000)
    used(world, key)
    second = found(world, key)["lastUsedAt"]

    assert re.fullmatch(INSTANT, first)
    assert key["createdAt"] < first < second
    assert found(world, idle)["lastUsedAt"] is None


def test_given_a_restart_when_keys_are_used_then_they_are_what_they_were(world: World) -> None:
    live, revoked = world.key_of(world.tenant, programId=world.payroll["id"]), world.key_of(world.tenant)
    world.revoke(revoked)

    before = [{**key, "lastUsedAt": None} for key in listed(world)]

    world.api.restart()
    assert [{**key, "lastUsedAt": None} for key in listed(world)] == before
    assert used(world, live).status_code == 200
    assert_refused(used(world, live, f"/api/programs/{world.lending['id']}"), 403)
    assert_refused(used(world, revoked), 401)


@pytest.mark.parametrize("scope", SCOPES)
def test_given_one_scope_when_a_key_asks_for_a_preflight_then_only_that_scope_may(world: World, scope: str) -> None:
    key = world.key_of(world.tenant, scopes=[scope])

    answer = asked(world, bearer(key["secret"]))

    if scope == "preflight":
        assert answer.status_code == 201
    else:
        assert_refused(answer, 403)


def test_given_no_scopes_when_a_key_is_used_then_it_has_all(world: World) -> None:
    key = world.key_of(world.tenant, scopes=[])
    preflight = asked(world, bearer(key["secret"]))

    paths = (
        "/api/programs",
        "/api/transfers",
        "/api/transfers/acht_0",
        f"/api/preflight/{preflight.json()['preflightId']}",
    )

    assert preflight.status_code == 201
    assert [used(world, key, path).status_code for path in paths] == [200] * 4


@pytest.mark.parametrize(
    ("mode", "program", "status"),
    [("live", "payroll", 201), ("live", "simulated", 403), ("test", "payroll", 403), ("test", "simulated", 201)],
)
@pytest.mark.parametrize("limited", [False, True])
def test_given_a_mode_when_a_key_names_a_program_then_only_its_own_kind_is_touched(
    world: World, mode: str, program: str, status: int, *, limited: bool
) -> None:
    named = getattr(world, program)
    own = world.payroll if mode == "live" else world.simulated
    key = world.key_of(world.tenant, mode=mode, **({"programId": own["id"]} if limited else {}))
    before = world.stored()

    answer = asked(world, bearer(key["secret"]), named)

    assert answer.status_code == status
    if status == 403:
        assert_refused(answer, 403)
        assert world.stored() == before


def recorded_operator(world: World, answer: Any) -> str:
    assert answer.status_code == 201, answer.text
    read = operators(world, "GET", f"/api/preflight/{answer.json()['preflightId']}")
    operator: str = read.json()["request"]["operator"]
    return operator


def test_given_a_key_without_a_person_when_it_asks_then_the_record_has_its_prefix(world: World) -> None:
    key = world.key_of(world.tenant)

    assert recorded_operator(world, asked(world, bearer(key["secret"]))) == f"key:{key['prefix']}"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("ann", "ann"),
        ("  ann   b.  lee ", "ann b. lee"),
        ("ann@bank.example", "ann@bank.example"),
        ("x" * 128, "x" * 128),
    ],
)
def test_given_a_key_with_a_person_when_it_asks_then_the_record_has_the_person(
    world: World, sent: str, kept: str
) -> None:
    key = world.key_of(world.tenant)

    assert recorded_operator(world, asked(world, bearer(key["secret"], sent))) == kept
    assert recorded_operator(world, asked(world, bearer(world.tenant["operatorToken"], sent))) == kept


@pytest.mark.parametrize(
    "named",
    ["", "   ", "key:live_abcdefg", "KEY:x", " key:x", "policy:v1", "Operator:ann", "a\tb", "ann\u00e9", "x" * 129],
)
def test_given_a_key_with_a_name_that_is_nobodys_when_it_asks_then_400(world: World, named: str) -> None:
    key = world.key_of(world.tenant)
    sent = [(b"Authorization", f"Bearer {key['secret']}".encode()), (b"X-Operator", named.encode("latin-1"))]

    answer = world.api.client.get("/api/programs", headers=sent)

    assert_refused(answer, 400, "X-Operator")
    assert named.strip() == "" or named not in answer.text


def test_given_one_name_on_two_keys_when_made_then_both_are_there(world: World) -> None:
    first, second = (world.key_of(world.tenant, name="twin") for _ in range(2))

    assert [key["id"] for key in listed(world)][:2] == [second["id"], first["id"]]


def test_given_as_many_keys_as_a_tenant_may_have_when_one_more_is_made_then_409_until_one_is_revoked(
    world: World,
) -> None:
    tenant = world.api.create_tenant("many-keys")
    headers = bearer(tenant["operatorToken"], "ann")
    first, *_ = [world.key_of(tenant) for _ in range(MOST_KEYS)]

    refused = world.send("POST", "/api/keys", headers, json={"name": "one more", "mode": "test"})
    revoked = world.send("DELETE", f"/api/keys/{first['id']}", headers)
    created = world.send("POST", "/api/keys", headers, json={"name": "one more", "mode": "test"})

    assert_refused(refused, 409, "at most 100 API keys")
    assert (revoked.status_code, created.status_code) == (200, 201)
