"""Numbers of accounts, cards and people, and secrets, written wherever somebody can write: the lake has none."""

from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
from msgspec import json

from clearhold.api.rules.routes import NEW_RULE
from clearhold.features.policy.seeds import THRESHOLDS_V1
from clearhold.store.analysts.control_rows import control_rows
from clearhold.store.analysts.parts import read_parts
from clearhold.store.analysts.writer import LakeWriter
from tests.support.alerting import ALERTING, alerts_of
from tests.support.planted_numbers import Plants
from tests.support.running_app import RunningApp
from tests.support.scorecard_calls import ScorecardCalls
from tests.support.scorecards import a_card

ALLOWED: Final = {
    ("counterparty_versions", "routing_number", "routing of nine digits"): "a bank's number, which is public",
    ("counterparty_versions", "raw", "routing of nine digits"): "the same",
    ("counterparty_versions", "raw", "phone"): "it is a phone number by its key, and written like one",
}
"""Where a number may be, by table, column and place that it was written in, and why."""
MASKED: Final = {
    *((table, "raw") for table in ("account_versions", "counterparty_versions", "entity_versions")),
    *((table, "name") for table in ("counterparty_versions", "entity_versions", "rules", "tenants")),
    *((table, "body") for table in ("policies", "policy_versions", "program_versions", "rules")),
    *(("action_versions", column) for column in ("approved_by", "change", "requested_by")),
    *(("dispositions", column) for column in ("decided_by", "narrative")),
    *(("label_versions", column) for column in ("reason", "recorded_by")),
    *(("entity_versions", column) for column in ("expected_payment_rails", "review_reasons")),
    ("alert_versions", "evidence"),
}
AT: Final = "2026-03-02T14:00:00Z"
COMMON: Final = {"amount": 10_000, "currency_code": "USD", "bank_account_id": "bacc_1", "created_at": AT}


class Bank:
    """Writes planted text wherever events and requests let it."""

    def __init__(self, api: RunningApp, plants: Plants) -> None:
        self.api, self.plants = api, plants
        self.tenant = self._admin("tenants", slug="bank", name=plants.name("tenant.name"))
        self.program = self._admin(
            "programs",
            tenantId=self.tenant["id"],
            slug="loans",
            name=plants.name("program.name"),
            declaredMonthlyVolumeCents="900000000000",
        )

    def call(self, method: str, path: str, body: Any) -> Any:
        operator = self.api.operator(self.tenant, self.plants.name(f"{path} X-Operator"))
        answer = self.api.client.request(method, f"/api/{path}", json=body, headers=operator)
        assert answer.status_code in {200, 201}, answer.text
        self.api.catch_up()
        return answer.json()

    def event(self, kind: str, **data: Any) -> None:
        body = {"id": f"evnt_{data['id']}_{kind}", "created_at": AT, "type": kind, "data": {"updated_at": AT} | data}
        assert self.api.deliver(self.program, json.encode(body)).status_code == 200
        self.api.catch_up()

    def approve(self, action: dict[str, Any]) -> None:
        self.call("POST", f"actions/{action['id']}/approve", {"approverId": self.plants.name("approverId")})

    def _admin(self, path: str, **body: Any) -> dict[str, Any]:
        answer = self.api.client.post(f"/api/admin/{path}", json=body, headers=self.api.admin)
        assert answer.status_code == 201, answer.text
        created: dict[str, Any] = answer.json()
        return created


def address(bank: Bank, place: str) -> dict[str, Any]:
    lines = {name: bank.plants.text(f"{place}.{name}") for name in ("line_1", "line_2", "city", "state", "postal_code")}
    return lines | {"country_code": "US"}


def send_entities(bank: Bank) -> None:
    plants, text = bank.plants, bank.plants.text
    for kind in ("PERSON", "BUSINESS"):
        place = kind.casefold()
        person = {
            **{name: text(f"{place}.{name}") for name in ("first_name", "middle_name", "last_name", "occupation")},
            **{name: text(f"{place}.{name}") for name in ("income", "email", "source_of_funds")},
            "ssn": plants.tax_number(f"{place}.ssn", person=True),
            "passport": {"number": plants.account(f"{place}.passport"), "country_code": "US"},
            "drivers_license": {"number": plants.account(f"{place}.license"), "country_code": "US"},
            "national_id": {"number": plants.account(f"{place}.national_id"), "country_code": "US"},
            "address": address(bank, f"{place}.address"),
        }
        owner = {"ssn": plants.tax_number("owner.ssn", person=True), "last_name": text("owner.last_name")}
        business = {
            **{name: text(f"{place}.{name}") for name in ("business_name", "dba_name", "industry", "website")},
            **{name: text(f"{place}.{name}") for name in ("legal_type", "end_customer_type", "expected_payment_rails")},
            "ein": plants.tax_number(f"{place}.ein", person=False),
            "address": address(bank, f"{place}.business_address"),
            "beneficial_owners": [owner | {"address": address(bank, "owner.address")}],
        }
        bank.event(
            "identity.verification.manual_review",
            id=f"enti_{place}",
            type=kind,
            review_reasons=["ssn_mismatch", text(f"{place}.review_reasons")],
            verification_tags=[text(f"{place}.verification_tags")],
            documents=[{"document_id": "docu_1", "description": text(f"{place}.documents")}],
            verification_status="MANUAL_REVIEW",
            person_details=person if kind == "PERSON" else None,
            business_details=business if kind == "BUSINESS" else None,
            metadata={"memo": text(f"{place}.metadata.memo"), "deep": [{"free": text(f"{place}.metadata.deep")}]},
            api_key=plants.secret(f"{place}.api_key"),
            access_token=plants.secret(f"{place}.access_token"),
        )


def send_account_and_counterparties(bank: Bank) -> None:
    plants, text = bank.plants, bank.plants.text
    bank.event(
        "account.created",
        id="bacc_1",
        type="CHECKING",
        status="OPEN",
        owners=["enti_business"],
        description=text("account.description"),
        display_name=text("account.display_name"),
        default_account_number=plants.account("account.default_account_number"),
        account_numbers=[plants.account("account.account_numbers")],
        fdic_insurance=text("account.fdic_insurance"),
    )
    wire = {
        **{name: text(f"wire.{name}") for name in ("beneficiary_name", "beneficiary_email", "beneficiary_phone")},
        "beneficiary_legal_id": plants.account("wire.beneficiary_legal_id"),
        "local_account_number": plants.account("wire.local_account_number"),
        "beneficiary_address": address(bank, "wire.beneficiary_address"),
    }
    bank.event(
        "counterparty.created",
        id="cpty_1",
        name=text("counterparty.name"),
        routing_number=plants.name("counterparty.routing_number"),
        account_number=plants.account("counterparty.account_number"),
        local_account_number=plants.account("counterparty.local_account_number"),
        legal_id=plants.account("counterparty.legal_id"),
        legal_type=text("counterparty.legal_type"),
        **{name: text(f"counterparty.{name}") for name in ("email", "phone", "description", "local_bank_name")},
        **{name: text(f"counterparty.{name}") for name in ("account_type", "local_bank_code", "routing_number_type")},
        address=address(bank, "counterparty.address"),
        wire=wire,
    )

    bank.event(
        "counterparty.created",
        id="cpty_3",
        name="Plain",
        routing_number=plants.number("routing of nine digits"),
        phone=f"+1{plants.number('phone')}",
    )


def send_ach(bank: Bank) -> None:
    plants, text = bank.plants, bank.plants.text
    bank.event(
        "ach.outgoing_transfer.returned",
        id="acht_1",
        type="DEBIT",
        status="RETURNED",
        is_incoming=False,
        **{name: text(f"ach.{name}") for name in ("description", "company_id", "company_name", "receiver_name")},
        **{name: text(f"ach.{name}") for name in ("company_entry_description", "company_discretionary_data")},
        **{name: text(f"ach.{name}") for name in ("payment_related_info", "receiver_id", "trace_number")},
        **{name: text(f"ach.{name}") for name in ("idempotency_key", "odfi_routing_number")},
        return_details=[
            {"return_code": "R10", "description": text("return.description"), "addenda": text("return.addenda")}
        ],
        iat={"addenda": [text("iat.addenda")]},
        counterparty={
            "id": "cpty_2",
            "name": text("embedded.name"),
            "account_number": plants.account("embedded.account"),
        }
        | {"routing_number": text("embedded.routing_number"), "address": address(bank, "embedded.address")},
        **COMMON,
    )


def send_wires(bank: Bank) -> None:
    plants, text = bank.plants, bank.plants.text
    for incoming in (False, True):
        way = "incoming" if incoming else "outgoing"
        bank.event(
            f"wire.{way}_transfer.completed" if incoming else "wire.outgoing_transfer.initiated",
            id=f"wire_{way}",
            status="COMPLETED" if incoming else "INITIATED",
            is_incoming=incoming,
            **{name: text(f"{way}.{name}") for name in ("description", "originator_name", "beneficiary_name")},
            **{name: text(f"{way}.{name}") for name in ("originator_to_beneficiary_info", "fi_to_fi_info", "imad")},
            **{name: text(f"{way}.{name}") for name in ("creditor_agent_routing_number", "platform_id")},
            originator_account_number=plants.account(f"{way}.originator_account_number"),
            beneficiary_account_number=plants.account(f"{way}.beneficiary_account_number"),
            raw_message=text(f"{way}.raw_message"),
            beneficiary_address=address(bank, f"{way}.beneficiary_address") | ALERTING["beneficiary_address"],
            originator_address=address(bank, f"{way}.originator_address") | ALERTING["beneficiary_address"],
            **COMMON,
        )


def send_others(bank: Bank) -> None:
    plants, text = bank.plants, bank.plants.text
    bank.event(
        "check.outgoing_debit.returned",
        id="chkt_1",
        status="returned",
        is_incoming=True,
        deposited_amount=330_000,
        **{name: text(f"check.{name}") for name in ("description", "payee_name", "micr_line", "return_reason")},
        **COMMON,
    )
    bank.event(
        "card.authorization.declined",
        id="card_auth_1",
        status="declined",
        card_id="card_1",
        decision_reason=text("card.decision_reason"),
        merchant={name: text(f"merchant.{name}") for name in ("name", "city", "category_code")} | {"id": "mrch_1"},
        pan=plants.account("card.pan"),
        **COMMON,
    )
    bank.event("odd.thing.happened", id="odd_1", memo=text("odd.memo"), reason=text("odd.reason"))


def write_decisions(bank: Bank) -> None:
    text, program = bank.plants.text, bank.program["id"]
    alerts = alerts_of(bank.api, bank.tenant, status="open,held,escalated")
    assert len(alerts) >= 2
    for alert, decision in zip(alerts, ("close", "escalate"), strict=False):
        body = {"decision": decision, "narrative": text("disposition.narrative")}
        bank.call("POST", f"alerts/{alert['id']}/decide", body)
    bank.call("POST", f"alerts/{alerts[0]['id']}/appeal", {"reason": text("appeal.reason")})
    label = {"transferId": "acht_1", "label": "bad", "reason": text("label.reason"), "programId": program}
    bank.call("POST", "labels", label | {"source": "person"})
    action = {"programId": program, "type": "cancel_transfer", "targetType": "transfer", "targetId": "wire_outgoing"}
    bank.call("POST", "actions", action)
    limit = {"kind": "per_transaction", "capCents": "500000000000", "note": text("limit.note")}
    bank.approve(bank.call("POST", f"limits/program/{program}", limit))
    bank.call("POST", f"autonomy/{program}", {"tier": "supervised", "note": text("autonomy.note")})
    transfer = {
        "rail": "wire",
        "direction": "outgoing",
        "amountCents": "900000000000",
        "description": text("preflight.description"),
        "counterparty": {
            "name": text("preflight.counterparty.name"),
            "routingNumber": "021000021",
            "accountLast4": "1234",
        },
    }
    preflight = {"programId": program, "transfer": transfer, "idempotencyKey": text("preflight.idempotencyKey")[:250]}
    bank.call("POST", "preflight", preflight)


def write_policies(bank: Bank) -> None:
    text = bank.plants.text
    body = json.decode(json.encode(THRESHOLDS_V1))
    body["callForAction"] |= {"source": text("thresholds.source")[:500]}
    policy = bank.call("POST", "policies", {"version": "thresholds-v2", "programId": None, "body": body})
    bank.approve(bank.call("POST", f"policies/{policy['id']}/activate", {"note": text("activation.note")}))
    rule = NEW_RULE | {"name": bank.plants.name("rule.name"), "note": text("rule.note")}
    bank.call("POST", "rules", rule)
    bank.call("POST", f"rules/{rule['id']}/backtest", {})
    bank.approve(bank.call("POST", f"rules/{rule['id']}/activate", {"note": text("rule.activation.note")}))
    cards = ScorecardCalls(bank.api, bank.tenant)
    version = cards.propose(a_card()).json()["version"]
    assert cards.report(version).status_code == 201
    bank.approve(cards.activate(version, note=text("scorecard.note")).json())


@pytest.fixture
def plants(api: RunningApp, tmp_path: Path) -> Plants:
    """All that was planted in a bank, whose lake is then in ``tmp_path/lake``."""
    plants = Plants()
    bank = Bank(api, plants)
    write_policies(bank)
    for send in (send_entities, send_account_and_counterparties, send_ach, send_wires, send_others, write_decisions):
        send(bank)
    control = control_rows(api.registry.tenancy)
    writer = LakeWriter(
        tmp_path / "lake", api.database, clock=api.clock, new_id=api.new_id, lead_us=0, control=lambda: control
    )
    writer.copy()
    writer.close()
    return plants


def texts_of(path: Path) -> dict[str, str]:
    """By column all values of a Parquet file."""
    with duckdb.connect() as reader:
        rows = reader.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [name for name, *_ in rows.description or ()]
        columns = zip(*rows.fetchall(), strict=True)
        return {name: "\n".join(map(str, values)) for name, values in zip(names, columns, strict=False)}


def test_given_numbers_and_secrets_wherever_somebody_can_write_when_copied_then_they_are_only_where_they_belong(
    plants: Plants, api: RunningApp, tmp_path: Path
) -> None:
    listed = read_parts(tmp_path / "lake")
    assert listed is not None
    leaks, masked = set(), set()
    for part in listed.parts:
        for column, text in texts_of(tmp_path / "lake" / part.file).items():
            leaks |= {(part.table_name, column, each.place) for each in plants.found_in(text)}
            masked |= {(part.table_name, column)} if "****" in text else set()

    assert leaks == set(ALLOWED)
    assert masked == MASKED  # it was written, and came that far
    assert not list(plants.found_in((tmp_path / "lake" / "analyst.duckdb").read_bytes().decode("latin-1")))
    (narrative,) = api.database.execute("SELECT string_agg(narrative, ' ') FROM dispositions").fetchall()[0]
    assert {each.place for each in plants.found_in(narrative)} == {"disposition.narrative"}  # the record has it all
