"""Recorded pre-flights are found by their tenant, with the transfer that landed for them."""

import duckdb
import msgspec

from clearhold.features.core.canonical import derived_id
from clearhold.features.core.entries.preflight import PreflightRecord, ProposedTransfer, Resolved
from clearhold.features.core.rows.events import PreflightMatchRow, PreflightRow
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.inputs import Preflights, idempotent_ids
from clearhold.store.ids import new_id
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, TENANT, a_match, a_preflight
from tests.support.entries_of_kinds import a_clear_answer
from tests.support.principals import an_operator


def a_record() -> PreflightRecord:
    transfer = ProposedTransfer(rail=Rail.WIRE, direction=Direction.OUTGOING, amount_cents="100")
    resolved = Resolved(entity_id=None, counterparty_id=None, counterparty_country=None)
    return PreflightRecord(
        tenant_id=TENANT,
        answer=a_clear_answer("pre_1", "prg_1"),
        request={"note": "Ünïcode"},
        transfer=transfer,
        operator="ana",
        resolved=resolved,
        asked_at=AT,
    )


def test_given_a_recorded_preflight_when_found_then_it_is_the_record_and_only_its_tenants(
    database: duckdb.DuckDBPyConnection,
) -> None:
    record = a_record()
    body = msgspec.json.encode(record).decode()
    BatchWriter(database).commit(row_tables({PreflightRow: [a_preflight(body=body), a_preflight(id="pre_2")]}), {}, AT)

    preflights = Preflights(database)

    assert preflights.find(an_operator(TENANT), "pre_1") == record
    assert preflights.find(an_operator("tnt_2"), "pre_1") is None
    assert preflights.find(an_operator(TENANT), "pre_3") is None


def test_given_a_match_then_the_landed_transfer_is_named_to_its_tenant(database: duckdb.DuckDBPyConnection) -> None:
    BatchWriter(database).commit(
        row_tables({PreflightMatchRow: [a_match(preflight_id="pre_1", transfer_id="trf_7")]}), {}, AT
    )

    preflights = Preflights(database)

    assert preflights.matched_transfer_id(an_operator(TENANT), "pre_1") == "trf_7"
    assert preflights.matched_transfer_id(an_operator("tnt_2"), "pre_1") is None
    assert preflights.matched_transfer_id(an_operator(TENANT), "pre_2") is None


def test_given_preflights_then_those_asked_under_a_key_are_listed(database: duckdb.DuckDBPyConnection) -> None:
    in_body, in_header = derived_id("preflight", "k"), derived_id("effect", "k")
    rows = [a_preflight(id=in_body, idempotency_key="k"), a_preflight(id=in_header), a_preflight(id=new_id())]
    BatchWriter(database).commit(row_tables({PreflightRow: rows}), {}, AT)

    assert sorted(idempotent_ids(database)) == sorted([in_body, in_header])
