"""A proof says what the service observed of an actor, under a signature that anybody can check."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from uuid import UUID

import pytest

from clearhold.features.core.instants import DAY_US, SECOND_US
from clearhold.store.keys import KeyPurpose
from clearhold.store.redis_log.connect import EmbeddedRedis
from tests.support.alerting import deliver, outgoing, party
from tests.support.proof_tokens import parts_of
from tests.support.running_app import BASE_URL, RunningApp, assert_refused
from tests.support.scored_actors import DAYS, score_actors


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """One for the file, with a scored entity and its payee on the program payroll."""
    folder = tmp_path_factory.mktemp("proofs")
    (folder / "redis").mkdir()
    server = EmbeddedRedis(folder / "redis")
    server.start()
    with ExitStack() as opened:
        opened.callback(server.stop)
        yield RunningApp(folder, server.socket_path, opened)


@pytest.fixture(scope="module")
def tenant(api: RunningApp) -> dict[str, Any]:
    return api.create_tenant()


@pytest.fixture(scope="module")
def program(api: RunningApp, tenant: dict[str, Any]) -> dict[str, Any]:
    payroll = api.create_program(tenant)
    score_actors(api, payroll)
    return payroll


def prove(api: RunningApp, tenant: dict[str, Any], /, **request: Any) -> Any:
    return api.client.post("/api/proofs", json=request, headers=api.operator(tenant))


def verdict(api: RunningApp, token: object) -> dict[str, Any]:
    answer = api.client.post("/api/proofs/verify", json={"token": token})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


ACTORS = (("entity", "enti_1"), ("counterparty", "cpty_1"))


@pytest.mark.parametrize(
    ("kind", "actor", "version", "score", "reasons"),
    [("entity", "enti_1", "ers-v1", 0, []), ("counterparty", "cpty_1", "crs-v1", 5, ["CRS-CPY-02"])],
)
def test_given_a_scored_actor_when_proved_then_the_claims_are_its_score_of_now_with_every_observation(
    api: RunningApp,
    tenant: dict[str, Any],
    program: dict[str, Any],
    kind: str,
    actor: str,
    version: str,
    score: int,
    reasons: list[str],
) -> None:
    answer = prove(api, tenant, type=kind, id=actor)

    at = api.clock.now() // SECOND_US
    assert answer.status_code == 201, answer.text
    assert answer.json()["claims"] == {
        "iss": BASE_URL,
        "sub": f"{kind}:{actor}",
        "tenant": "first-bank",
        "program": program["id"],
        "score": score,
        "band": "clear",
        "version": version,
        "n": DAYS,
        "confidence": round(DAYS / (DAYS + 20), 2),
        "reasons": reasons,
        "iat": at,
        "exp": at + 86_400,
        "jti": str(UUID(answer.json()["claims"]["jti"])),
    }
    assert verdict(api, answer.json()["token"]) == {"valid": True, "claims": answer.json()["claims"]}


def test_given_an_agent_when_proved_then_it_is_an_agent_and_not_an_entity(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    agents = api.create_program(tenant, slug="agents")
    score_actors(api, agents, entity="agent_1", payee="cpty_of_agent", days=14)

    proof = prove(api, tenant, type="agent", id="agent_1")

    assert proof.status_code == 201, proof.text
    assert (proof.json()["claims"]["sub"], proof.json()["claims"]["version"]) == ("agent:agent_1", "ars-v1")
    assert_refused(prove(api, tenant, type="entity", id="agent_1"), 409, "no score yet")


def test_given_proofs_of_two_actors_and_of_two_instants_then_each_has_its_own_id(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    first, of_payee = (prove(api, tenant, type=kind, id=actor) for kind, actor in ACTORS)
    api.clock.advance(SECOND_US)
    later = prove(api, tenant, type="entity", id="enti_1")

    assert len({answer.json()["claims"]["jti"] for answer in (first, of_payee, later)}) == 3


def test_given_a_simulated_program_when_proved_then_the_claims_say_so(api: RunningApp, tenant: dict[str, Any]) -> None:
    simulated = api.create_program(tenant, slug="sandbox", source="simulated")
    score_actors(api, simulated, entity="enti_simulated", payee="cpty_simulated")

    proof = prove(api, tenant, type="entity", id="enti_simulated").json()

    assert proof["claims"]["simulated"] is True
    assert verdict(api, proof["token"])["claims"]["simulated"] is True


def test_given_actors_that_cannot_be_proved_when_requested_then_each_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, party("identity", "enti_new"), outgoing("acht_1", counterparty_id="cpty_new"))
    other = api.create_tenant("second-bank")

    assert_refused(prove(api, tenant, type="entity", id="enti_new"), 409, "no score yet")
    for kind in ("entity", "counterparty", "agent"):
        assert_refused(prove(api, tenant, type=kind, id="nobody"), 404, f"Unknown {kind}")
    assert_refused(prove(api, tenant, type="entity", id="bacc_of_enti_1"), 404, "Unknown entity")
    assert_refused(prove(api, tenant, type="entity", id="cpty_1"), 404, "Unknown entity")
    assert_refused(prove(api, tenant, type="agent", id="enti_1"), 404, "Unknown agent")
    assert_refused(prove(api, other, type="entity", id="enti_1"), 404, "Unknown entity")
    for wrong in ({"type": "transfer"}, {"id": ""}, {"programId": "payroll"}, {"tenant": "second-bank"}):
        assert_refused(prove(api, tenant, **{"type": "entity", "id": "enti_1"} | wrong), 400, next(iter(wrong)))


def test_given_an_entity_without_transfers_for_90_days_when_proved_then_its_last_score_is_not_taken(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    score_actors(api, program, entity="enti_lapsed", payee="cpty_lapsed")
    before = prove(api, tenant, type="entity", id="enti_lapsed")

    api.clock.advance(90 * DAY_US)
    after = prove(api, tenant, type="entity", id="enti_lapsed")
    of_payee = prove(api, tenant, type="counterparty", id="cpty_lapsed")
    api.clock.advance(-90 * DAY_US)

    assert before.status_code == 201
    assert_refused(after, 409, "no score yet")
    assert of_payee.json()["claims"]["n"] == DAYS  # a relation counts its transfers for good


def test_given_an_actor_of_several_programs_when_proved_then_the_program_is_named_or_follows_from_the_key(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    simulated = api.create_program(tenant, slug="simulated-too", source="simulated")
    for each in (program, lending, simulated):
        score_actors(api, each, entity="enti_shared", payee="cpty_shared")
    request = {"type": "entity", "id": "enti_shared"}

    def program_of(answer: Any) -> str:
        assert answer.status_code == 201, answer.text
        return str(answer.json()["claims"]["program"])

    def proved_by(headers: dict[str, str], **over: Any) -> Any:
        return api.client.post("/api/proofs", json=request | over, headers=headers)

    assert_refused(prove(api, tenant, **request), 400, "Several programs have an entity")
    assert program_of(prove(api, tenant, **request, programId=lending["id"])) == lending["id"]
    assert program_of(proved_by(api.key(tenant, programId=lending["id"]))) == lending["id"]
    assert program_of(proved_by(api.key(tenant, mode="test"))) == simulated["id"]
    assert_refused(proved_by(api.key(tenant, mode="test"), programId=program["id"]), 403)
    assert_refused(proved_by(api.key(tenant, scopes=["record"])), 403, "proofs")


@pytest.mark.usefixtures("program")
def test_given_an_idempotency_key_when_repeated_then_the_same_token_is_answered(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    headers = api.operator(tenant) | {"Idempotency-Key": "once"}
    body = {"type": "entity", "id": "enti_1"}

    first = api.client.post("/api/proofs", json=body, headers=headers)
    api.clock.advance(5 * SECOND_US)
    again = api.client.post("/api/proofs", json=body, headers=headers)

    assert (first.content, again.headers["idempotent-replayed"]) == (again.content, "true")
    assert_refused(api.client.post("/api/proofs", json=body | {"id": "enti_2"}, headers=headers), 409)


@pytest.mark.usefixtures("program")
def test_given_a_service_that_does_not_know_its_address_when_proved_then_it_signs_nothing(
    api: RunningApp, tenant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.services["proofs"], "_issuer", None)

    assert_refused(prove(api, tenant, type="entity", id="enti_1"), 409, "CLEARHOLD_BASE_URL")


@pytest.mark.usefixtures("program")
def test_given_a_token_when_taken_apart_then_its_header_is_the_documented_one(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    key = api.stores.record.signing_keys.signing(KeyPurpose.PROOF)

    token = prove(api, tenant, type="entity", id="enti_1").json()["token"]

    assert parts_of(token)[0] == b'{"alg":"EdDSA","kid":"%s","typ":"score-proof+jwt"}' % key.kid.encode()
    assert key.kid in [each["kid"] for each in api.client.get("/.well-known/jwks.json").json()["keys"]]
    assert len(token) < 1_024


def test_given_bodies_that_are_not_the_documented_one_when_verified_then_only_those_are_refused(
    api: RunningApp,
) -> None:
    def sent(body: bytes, media: str = "application/json") -> Any:
        return api.client.post("/api/proofs/verify", content=body, headers={"Content-Type": media})

    assert (sent(b"{}").status_code, sent(b"{}").json()) == (200, {"valid": False, "reason": "token required"})
    for body in (b"", b"{", b"[]", b'"token"', b'{"token":""', b'{"token":"","more":1}', b'{"token":"a","token":"b"}'):
        assert_refused(sent(body), 400)
    for body in (b'{"token":"\\u0000"}', b'{"token":"\\ud800"}', b'{"token":"\xff"}', b'{"token":NaN}'):
        assert_refused(sent(body), 400)
    assert_refused(sent(b"{}", "text/plain"), 415)
    assert_refused(sent(b'{"token":"%s"}' % (b"x" * 256 * 1024)), 413)
    assert_refused(api.client.get("/api/proofs/verify"), 405)
    assert verdict(api, "x" * 200_000) == {"valid": False, "reason": "malformed"}
    assert verdict(api, [[[["x"]]]]) == {"valid": False, "reason": "malformed"}


def test_given_another_tenants_proof_when_verified_then_it_is_valid_and_says_whose_it_is(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    other = api.create_tenant("third-bank")
    score_actors(api, api.create_program(other))
    token = prove(api, other, type="entity", id="enti_1").json()["token"]

    answer = api.client.post("/api/proofs/verify", json={"token": token}, headers=api.operator(tenant))

    assert (answer.json()["valid"], answer.json()["claims"]["tenant"]) == (True, "third-bank")


@pytest.mark.usefixtures("program")
def test_given_a_day_gone_by_when_verified_then_the_proof_is_expired_and_still_says_what_it_said(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    proof = prove(api, tenant, type="entity", id="enti_1").json()

    api.clock.advance(DAY_US)

    assert verdict(api, proof["token"]) == {
        "valid": False,
        "reason": "expired",
        "expired": True,
        "claims": proof["claims"],
    }
