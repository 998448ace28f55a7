"""A person's whole life at a bank beside another person's, and the exports of both."""

from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import httpx
from msgspec import json

from tests.support.alerting import ALERTING, an_alert, appeal, assign, decide, deliver, note, outgoing, party
from tests.support.running_app import RunningApp, content_of_201

ADA: Final = "enti_ada"
BOB: Final = "enti_bob"
OF: Final = {ADA: ("bacc_ada", "acht_ada", "cpty_ada"), BOB: ("bacc_bob", "acht_bob", "cpty_bob")}
HOOKS: Final = "https://hooks.bank.example/clearhold"
ACCOUNT_NUMBER: Final = "000123456789"
SSN: Final = "123-45-6789"

Line = dict[str, Any]


def live(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> None:
    """What happens to two persons, in turns, so that their rows lie side by side in every table.

    The owner of either account is not known when its first transfer lands.
    """
    api.client.post("/api/webhooks", json={"url": HOOKS}, headers=api.operator(tenant)).raise_for_status()
    for person in OF:
        details = {"first_name": "Ada", "last_name": "Example", "ssn": SSN}
        deliver(api, program, party("identity", person, type="PERSON", person_details=details))
    for person, (account, transfer, counterparty) in OF.items():
        number = {"account_number": ACCOUNT_NUMBER, "name": "Supplies", "routing_number": "121145307"}
        deliver(api, program, party("counterparty", counterparty, **number))
        on_account = {"bank_account_id": account, "counterparty_id": counterparty}
        closed = an_alert(api, tenant, program, f"{transfer}_1", **on_account)
        own_account(api, program, account, person)
        waiting = an_alert(api, tenant, program, f"{transfer}_2", **on_account)
        decide(api, api.operator(tenant), closed["id"]).raise_for_status()
        appeal(api, api.operator(tenant), closed["id"]).raise_for_status()
        freeze(api, tenant, program, account, waiting["id"])
        note(api, api.operator(tenant), closed["id"]).raise_for_status()
        assign(api, api.operator(tenant), waiting["id"], "bob").raise_for_status()
        label = {"transferId": f"{transfer}_2", "label": "bad", "reason": "It was disputed."}
        api.client.post("/api/labels", json=label, headers=api.operator(tenant)).raise_for_status()
        ask_and_send(api, tenant, program, person)


def own_account(api: RunningApp, program: dict[str, Any], account: str, person: str) -> None:
    path = f"/api/admin/programs/{program['id']}/accounts/{account}"
    api.client.put(path, json={"entityId": person}, headers=api.admin).raise_for_status()


def freeze(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], account: str, alert_id: str) -> None:
    """Request what two persons must agree on, have the second one decline it, and agree the second time."""
    body = {"type": "freeze_account", "targetType": "account", "targetId": account, "alertId": alert_id}
    for answer, words in (("decline", {"note": "Not without the contract."}), ("approve", {})):
        action = content_of_201(
            api.client.post("/api/actions", json=body | {"programId": program["id"]}, headers=api.operator(tenant))
        )
        path, bob = f"/api/actions/{action['id']}/{answer}", api.operator(tenant, "bob")
        api.client.post(path, json=words, headers=bob).raise_for_status()


def ask_and_send(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], person: str) -> None:
    """A pre-flight, and the transfer that lands for it."""
    account, transfer, counterparty = OF[person]
    proposed = {"rail": "ach", "direction": "outgoing", "type": "CREDIT", "amountCents": "4321"}
    body = {
        "programId": program["id"],
        "transfer": proposed | {"entityId": person, "counterpartyId": counterparty},
    }
    api.client.post("/api/preflight", json=body, headers=api.operator(tenant)).raise_for_status()
    api.catch_up()
    on_account = {"bank_account_id": account, "counterparty_id": counterparty, "amount": 4_321}
    deliver(api, program, outgoing(f"{transfer}_3", at="2026-03-02T15:00:00Z", **on_account, **ALERTING))
    later = outgoing(f"{transfer}_3", at="2026-03-02T15:00:00Z", **on_account, **ALERTING)
    changed = later.replace(b'"id":"evnt_', b'"id":"evnt_later_').replace(b"INITIATED", b"SETTLED")
    deliver(
        api, program, changed.replace(b'"updated_at":"2026-03-02T15:00:00Z"', b'"updated_at":"2026-03-02T15:00:01Z"')
    )


def export(
    api: RunningApp, tenant: dict[str, Any], subject_id: str = ADA, resource: str = "entities", **query: str
) -> httpx.Response:
    path = f"/api/{resource}/{subject_id}/export"
    return api.client.get(path, params=query or None, headers=api.operator(tenant))


def lines_of(answer: httpx.Response) -> list[Line]:
    """The lines of an export that came whole: its end counts and digests the others."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    raw = answer.content.split(b"\n")
    assert raw.pop() == b""
    lines: list[Line] = [json.decode(line) for line in raw]
    end = lines[-1]["row"]
    tables = [line["table"] for line in lines[1:-1]]
    assert (lines[0]["table"], lines[-1]["table"]) == ("manifest", "end")
    assert end["sha256"] == sha256(b"".join(line + b"\n" for line in raw[:-1])).hexdigest()
    assert end["lines"] == len(lines) - 1
    assert end["counts"] == {table: tables.count(table) for table in lines[0]["row"]["tables"]}
    return lines


def rows(lines: list[Line], table: str) -> list[dict[str, Any]]:
    return [line["row"] for line in lines if line["table"] == table]


def keep(api: RunningApp, folder: Path, content: bytes) -> tuple[Path, Path]:
    """An export and the published keys as an examiner's files."""
    exported, jwks = folder / "subject.ndjson", folder / "jwks.json"
    exported.write_bytes(content)
    jwks.write_bytes(api.client.get("/.well-known/jwks.json").content)
    return exported, jwks
