"""Callers: a world of two tenants with programs, transfers, pre-flights and keys, and every kind of caller."""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx
import msgspec

from clearhold.api.policies.routes import NEW_POLICY
from clearhold.demo.scan_index import ScanIndex
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.store.redis_log.connect import EmbeddedRedis
from tests.support.alerting import ALERTING, DETECTOR, outgoing, party
from tests.support.running_app import SHARDS, RunningApp, content_of_201, signature
from tests.support.scan_items import an_agent, entity_of
from tests.support.scored_actors import score_actors

Headers = list[tuple[str, str]]

TRANSFER: Final[dict[str, Any]] = {"rail": "ach", "direction": "outgoing", "type": "CREDIT", "amountCents": "12500"}
UNKNOWN_ID: Final = "0b0c4a53-0000-4000-8000-000000000001"
FORGED: Final = "0" * 43
SCOPES: Final = [
    "preflight",
    "alerts:read",
    "alerts:decide",
    "actions",
    "labels",
    "policies",
    "rules",
    "record",
    "reports",
    "proofs",
    "webhooks",
    "connector",
]
UNSENT: Final = {"transferId": "acht_2", "returnCode": "R03"}
"""The return of a transfer of the simulated program that the bank has not sent yet."""
WEBHOOK_URL: Final = "https://hooks.bank.example/clearhold"
PAUSE_US: Final = 1_000_000  # between calls, so that the frozen clock fills every bucket again
RETRY_WITHIN_S: Final = 60.0
RETRY_EVERY_S: Final = 0.02

Built = TypeVar("Built")
Ids = dict[str, str]
"""What a call may name: program, slug, transfer, a party, preflight, alert, disposition, action, policy, key."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """What proves who is calling, and whether that is a key."""

    headers: Headers
    is_key: bool = False


def bearer(token: str, operator: str | None = None) -> Headers:
    return [("Authorization", f"Bearer {token}")] + ([] if operator is None else [("X-Operator", operator)])


def sha256_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class World:
    """A running application in which there is something to find, and something that must not be found."""

    def __init__(self, api: RunningApp) -> None:
        self.api = api
        self.tenant, self.other = api.create_tenant("first-bank"), api.create_tenant("second-bank")
        self.spare = api.create_tenant("spare-bank")
        self.payroll = api.create_program(self.tenant)
        self.lending = api.create_program(self.tenant, slug="lending")
        self.simulated = api.create_program(self.tenant, slug="simulated", source="simulated")
        self.theirs = api.create_program(self.other, slug="theirs")
        self.their_simulated = api.create_program(self.other, slug="their-simulated", source="simulated")
        self.spare_program = api.create_program(self.spare, slug="spare")
        self._made = 0
        programs = (self.payroll, self.lending, self.simulated, self.theirs, self.their_simulated)
        for number, program in enumerate(programs):
            self._begin(program, number)
        score_actors(self.api, self.payroll, entity="enti_scored", payee="cpty_scored")
        self.actions: Ids = {}  # by program, for whoever requests some
        self.preflights = {program["id"]: self.preflight_of(program) for program in programs}
        api.catch_up()
        self.alerts = {
            program["id"]: self.alert_on(program, f"acht_alerting_{number}") for number, program in enumerate(programs)
        }
        self.dispositions = {program["id"]: self.decided(program) for program in programs}
        self.snapshots = {program["id"]: self.snapshot_of(program) for program in programs}
        self.mine: Ids = {
            "program": self.payroll["id"],
            "slug": self.payroll["slug"],
            "transfer": "acht_0",
            "event": "evnt_acht_0",
            "entity": "enti_0",
            "counterparty": "cpty_of_0",
            "known account": "bacc_of_0",
            "scored entity": "enti_scored",
            "preflight": self.preflights[self.payroll["id"]],
            "alert": self.alerts[self.payroll["id"]],
            "disposition": self.dispositions[self.payroll["id"]],
            "snapshot": self.snapshots[self.payroll["id"]],
            "action": self.action_on(self.payroll),
            "policy": self.policy_of(self.tenant),
            "tenant": self.spare["id"],
            "spare": self.spare_program["id"],
            "account": "bacc_1",
            "simulated program": self.simulated["id"],
            "agent": self.agent_of_mine(),
        }
        self.their_webhook = self.webhook_of(self.theirs)
        self.their_delivery = self.delivery_to(self.theirs, self.their_webhook)
        self.mine["webhook"] = self.webhook_of(self.payroll)
        self.mine["delivery"] = self.delivery_to(self.payroll, self.mine["webhook"])
        self.callers = self._all_callers()

    def _begin(self, program: dict[str, Any], number: int) -> None:
        """Land a transfer, one that opens alerts, an entity, a counterparty and an account."""
        self.land(program, f"acht_{number}")
        self.land(program, f"acht_alerting_{number}", **ALERTING)
        kinds = (("identity", "enti"), ("counterparty", "cpty_of"), ("account", "bacc_of"))
        for family, party_id in ((family, f"{prefix}_{number}") for family, prefix in kinds):
            assert self.api.deliver(program, party(family, party_id)).status_code == 200

    def _all_callers(self) -> dict[str, Caller]:
        token, theirs = self.tenant["operatorToken"], self.other["operatorToken"]
        revoked = self.key_of(self.tenant)
        self.revoke(revoked)
        of_keys = {
            "live key": self.key_of(self.tenant),
            "test key": self.key_of(self.tenant, mode="test"),
            "key of the program": self.key_of(self.tenant, programId=self.payroll["id"]),
            "key of another program": self.key_of(self.tenant, programId=self.lending["id"]),
            "key of the simulated program": self.key_of(self.tenant, mode="test", programId=self.simulated["id"]),
            "key with the scopes": self.key_of(self.tenant, scopes=SCOPES),
            "key with another scope": self.key_of(self.tenant, scopes=["sandbox"]),
            "revoked key": revoked,
            "key of another tenant": self.key_of(self.other),
        }
        return {
            "nobody": Caller(headers=[("X-Operator", "ann")]),
            "forged": Caller(headers=bearer(f"op_{FORGED}", "ann")),
            "forged key": Caller(headers=bearer(f"live_{FORGED}"), is_key=True),
            "truncated": Caller(headers=bearer(token[:-1], "ann")),
            "upper-cased": Caller(headers=bearer(token.upper(), "ann")),
            "upper-cased key": Caller(headers=bearer(of_keys["live key"]["secret"].upper()), is_key=True),
            "truncated key": Caller(headers=bearer(of_keys["live key"]["secret"][:-1]), is_key=True),
            "prefix of a key": Caller(headers=bearer(of_keys["live key"]["prefix"]), is_key=True),
            "hash of a key": Caller(headers=bearer(sha256_of(of_keys["live key"]["secret"])), is_key=True),
            "duplicated": Caller(headers=[*bearer(token), *bearer(token, "ann")]),
            "operator": Caller(headers=bearer(token, "ann")),
            "nameless operator": Caller(headers=bearer(token)),
            "operator of another tenant": Caller(headers=bearer(theirs, "mallory")),
            "admin": Caller(headers=list(self.api.admin.items())),
            "nameless admin": Caller(headers=[("Authorization", self.api.admin["Authorization"])]),
        } | {name: Caller(headers=bearer(key["secret"]), is_key=True) for name, key in of_keys.items()}

    def agent_of_mine(self) -> str:
        """An agent of the tenant alone; both tenants have a program for theirs."""
        mine, _ = (self.api.create_program(tenant, slug="agents") for tenant in (self.tenant, self.other))
        place = (shard_of(mine["id"], SHARDS), EntryKind.AGENT, mine["id"], self.api.clock.now())
        self.api.on_loop(lambda: self.api.appender.append(*place, msgspec.json.encode(an_agent())))
        self.api.catch_up()
        return entity_of(22)

    def snapshot_of(self, program: dict[str, Any]) -> str:
        owner = self.tenant if program["tenantId"] == self.tenant["id"] else self.other
        answer = self.send("POST", f"/api/kri/snapshot/{program['id']}", bearer(owner["operatorToken"]))
        assert answer.status_code == 200, answer.text
        snapshot_id: str = answer.json()["snapshotId"]
        return snapshot_id

    def fresh(self) -> str:
        """A name that nothing else here has."""
        self._made += 1
        return f"made-{self._made}"

    def key_of(self, tenant: dict[str, Any], **over: Any) -> dict[str, Any]:
        """Create a key as the tenant's operator; with its secret."""
        body = {"name": self.fresh(), "mode": "live"} | over
        return content_of_201(self.send("POST", "/api/keys", bearer(tenant["operatorToken"], "ann"), json=body))

    def person_token(self, tenant: dict[str, Any], name: str) -> dict[str, Any]:
        """Issue an operator token to a person; with the token."""
        body = {"name": name, "expiresAt": "2026-06-01"}
        path = f"/api/admin/tenants/{tenant['id']}/operator-tokens"
        return content_of_201(self.send("POST", path, list(self.api.admin.items()), json=body))

    def revoke(self, key: dict[str, Any]) -> None:
        answer = self.send("DELETE", f"/api/keys/{key['id']}", bearer(self.tenant["operatorToken"], "ann"))
        assert answer.status_code == 200, answer.text

    def land(self, program: dict[str, Any], transfer_id: str, **over: Any) -> None:
        """Deliver one transfer as the bank would."""
        assert self.api.deliver(program, outgoing(transfer_id, **over)).status_code == 200

    def operator_of(self, program: dict[str, Any], name: str = "ann") -> Headers:
        tenant = self.tenant if program["tenantId"] == self.tenant["id"] else self.other
        return bearer(tenant["operatorToken"], name)

    def alert_on(self, program: dict[str, Any], transfer_id: str) -> str:
        """The id of the alert that waits for a person on an alerting transfer."""
        path = f"/api/alerts?transferId={transfer_id}&detector={DETECTOR}"
        answer = self.send("GET", path, self.operator_of(program))
        (alert,) = answer.json()["data"]
        alert_id: str = alert["id"]
        return alert_id

    def returnable_transfer(self, program: dict[str, Any]) -> str:
        """A fresh transfer that the bank has sent."""
        transfer_id = f"acht_{self.fresh()}"
        self.land(program, transfer_id, status="SETTLED")
        self.api.catch_up()
        return transfer_id

    def waiting_alert(self, program: dict[str, Any]) -> str:
        """A fresh alert that waits for a person."""
        transfer_id = f"acht_{self.fresh()}"
        self.land(program, transfer_id, **ALERTING)
        self.api.catch_up()
        return self.alert_on(program, transfer_id)

    def stack_of(self, program: dict[str, Any], alert_id: str) -> str:
        """The stack of an alert."""
        answer = self.send("GET", f"/api/alerts/{alert_id}", self.operator_of(program))
        stack_id: str = answer.json()["alert"]["stackId"]
        return stack_id

    def decided(self, program: dict[str, Any], alert_id: str | None = None) -> str:
        """Close an alert, a fresh one unless it is named; the id of the disposition."""
        alert_id = alert_id or self.waiting_alert(program)
        body = {"decision": "close", "narrative": "It was explained to us."}
        answer = self.send("POST", f"/api/alerts/{alert_id}/decide", self.operator_of(program), json=body)
        disposition_id: str = content_of_201(answer)["id"]
        return disposition_id

    def closed_alert(self, program: dict[str, Any]) -> str:
        """A fresh alert that a person closed."""
        alert_id = self.waiting_alert(program)
        self.decided(program, alert_id)
        return alert_id

    def action_on(self, program: dict[str, Any], alert_id: str | None = None, *, by: str = "ann") -> str:
        """A fresh action that waits for a second person; its id."""
        target = {"targetType": "account", "targetId": "bacc_1"}
        body = {"programId": program["id"], "type": "freeze_account", "alertId": alert_id} | target
        answer = self.send("POST", "/api/actions", self.operator_of(program, by), json=body)
        action_id: str = content_of_201(answer)["id"]
        return action_id

    def webhook_of(self, program: dict[str, Any]) -> str:
        """A fresh endpoint for the events of a program; its id."""
        body = {"url": WEBHOOK_URL, "programId": program["id"]}
        answer = self.send("POST", "/api/webhooks", self.operator_of(program), json=body)
        webhook_id: str = content_of_201(answer)["id"]
        return webhook_id

    def delivery_to(self, program: dict[str, Any], webhook_id: str) -> str:
        """A fresh delivery to an endpoint of a program; its id."""
        answer = self.send("POST", f"/api/webhooks/{webhook_id}/test", self.operator_of(program))
        assert answer.status_code == 200, answer.text
        delivery_id: str = answer.json()["id"]
        return delivery_id

    def policy_of(self, tenant: dict[str, Any]) -> str:
        policy_id: str = self.send("GET", "/api/policies", bearer(tenant["operatorToken"], "ann")).json()[0]["id"]
        return policy_id

    def next_clock(self, tenant: dict[str, Any]) -> str:
        """The version that the next clock policy of the tenant must have."""
        path = "/api/policies?prefix=clock"
        return f"clock-v{1 + len(self.send('GET', path, bearer(tenant['operatorToken'], 'ann')).json())}"

    def new_policy(self, tenant: dict[str, Any]) -> str:
        """A fresh version that is in force nowhere; its id."""
        body = {"version": self.next_clock(tenant), "body": NEW_POLICY["body"]}
        answer = self.send("POST", "/api/policies", bearer(tenant["operatorToken"], "ann"), json=body)
        policy_id: str = content_of_201(answer)["id"]
        return policy_id

    def preflight_of(self, program: dict[str, Any]) -> str:
        """Ask about a transfer of this program; the id of the answer."""
        body = {"programId": program["id"], "transfer": TRANSFER}
        answer = self.send("POST", "/api/preflight", self.operator_of(program), json=body)
        preflight_id: str = content_of_201(answer)["preflightId"]
        return preflight_id

    def send(self, method: str, path: str, headers: Headers, **sent: Any) -> httpx.Response:
        """Send, and again while the caller is only too fast: rates are not what most tests are about."""
        until = time.monotonic() + RETRY_WITHIN_S
        more = sent.pop("extra", [])
        while True:
            self.api.clock.advance(PAUSE_US)
            answer = self.api.client.request(method, path, headers=httpx.Headers([*headers, *more]), **sent)
            if answer.status_code != 429 or time.monotonic() > until:
                return answer
            time.sleep(RETRY_EVERY_S)

    def signed(self, program: dict[str, Any], body: bytes) -> Headers:
        return [("Bank-Signature", signature(program["ingestSecret"], body)), ("Content-Type", "application/json")]

    def stored(self) -> tuple[int, int]:
        """How much the log and the control log hold."""
        return self.api.stored()


@contextmanager
def running_world(folder: Path, build: Callable[[RunningApp], World] = World) -> Iterator[World]:
    with running_app(folder, build) as world:
        yield world


@contextmanager
def running_app(folder: Path, build: Callable[[RunningApp], Built]) -> Iterator[Built]:
    """What is built over a Redis of its own, so that a module can keep it while others empty the shared one."""
    (folder / "redis").mkdir()
    server = EmbeddedRedis(folder / "redis")
    server.start()
    try:
        with ExitStack() as opened, ScanIndex() as index:
            yield build(RunningApp(folder, server.socket_path, opened, scan_index_url=index.url))
    finally:
        server.stop()
