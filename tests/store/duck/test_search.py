"""Searches over random rows, as a naive reading of the rows gives them."""

from typing import Any, Final

import duckdb
import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.core.canonical import json_text
from clearhold.features.core.plain_text import look_key, name_key
from clearhold.features.core.principal import Principal, PrincipalKind
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import AccountRow, CounterpartyRow
from clearhold.features.core.search_terms import MatchedBy, terms_of
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.party_index import PartyIndex, PartyKind
from clearhold.store.duck.search import SearchedRows
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_transfer

PROGRAMS: Final = (PROGRAM, "prg_2", "prg_3")
OPERATOR: Final = Principal(kind=PrincipalKind.OPERATOR, id="tnt_1", tenant_id=TENANT, tenant="First Bank")
STRANGER: Final = Principal(kind=PrincipalKind.OPERATOR, id="tnt_2", tenant_id="tnt_2", tenant="Second Bank")
KEY: Final = Principal(
    kind=PrincipalKind.KEY,
    id="key_1",
    tenant_id=TENANT,
    tenant="First Bank",
    program_ids=frozenset(PROGRAMS[:2]),
    of_mode=frozenset(PROGRAMS),
)
IDS: Final = ("ac", "ac_1", "ac_12", "ac%1", "AC_1", "7899", "x'; --", "12.00")
NAMES: Final = (None, "", "Cedar Freight, LLC", "C\u0435dar Oak", "CEDAR", "Ada 100%", "Ada 100", "O'Brien", "7899")
NUMBERS: Final = (None, "7899", "0001", "CEDA")
LINES: Final = (*IDS, "cedar", "c\u0435dar", "llc ced", "ada 100%", "100", "obrien", "CEDA", "a_", "%%", "12", "12.0")
LIMIT: Final = 3
_RANKS: Final = [MatchedBy.ID, MatchedBy.ID_PREFIX, MatchedBy.NAME, MatchedBy.LAST4, MatchedBy.AMOUNT]
_SETTINGS: Final = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def commit(database: duckdb.DuckDBPyConnection, rows: list[Any]) -> None:
    of_type: dict[type[msgspec.Struct], list[Any]] = {}
    for row in rows:
        of_type.setdefault(type(row), []).append(row)
    BatchWriter(database).commit(row_tables(of_type), {}, AT)


def emptied(database: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    for table in ("transfers", "counterparties", "accounts"):
        database.execute(f"DELETE FROM {table}")  # noqa: S608 - a constant
    return database


@st.composite
def transfers(draw: st.DrawFn) -> list[TransferRow]:
    """Versions of transfers; the program and creation of one are the same in all of them."""
    found, created = [], dict[tuple[str, str], int]()
    for offset in range(1, draw(st.integers(1, 25))):
        key = draw(st.sampled_from(IDS)), draw(st.sampled_from(PROGRAMS))
        at = created.setdefault(key, AT + draw(st.integers(0, 3)))
        cents = draw(st.sampled_from([1200, 1201, 789_900]))
        row = a_transfer(id=key[0], program_id=key[1], bank_created_at=at, amount_cents=cents, offset=offset)
        found.append(row)
    return found


def a_counterparty(party_id: str, program_id: str, offset: int, name: str | None, last4: str | None) -> CounterpartyRow:
    return CounterpartyRow(
        TENANT,
        program_id,
        party_id,
        3,
        offset,
        name=name,
        routing_number=None,
        account_last4=last4,
        country_code=None,
        raw=None,
        first_seen_at=AT,
        updated_at=AT,
        earlier_accounts=None,
    )


def an_account(account_id: str, program_id: str, offset: int, number: str | None) -> AccountRow:
    raw = "{}" if number is None else json_text({"account_number": f"*****{number}"})
    return AccountRow(
        TENANT, program_id, account_id, 3, offset, entity_id=None, type=None, status=None, raw=raw, updated_at=AT
    )


@st.composite
def parties(draw: st.DrawFn) -> list[CounterpartyRow | AccountRow]:
    found: list[CounterpartyRow | AccountRow] = []
    for offset in range(1, draw(st.integers(1, 25))):
        party_id, program_id = draw(st.sampled_from(IDS)), draw(st.sampled_from(PROGRAMS))
        number = draw(st.sampled_from(NUMBERS))
        if draw(st.booleans()):
            found.append(an_account(party_id, program_id, offset, number))
        else:
            found.append(a_counterparty(party_id, program_id, offset, draw(st.sampled_from(NAMES)), number))
    return found


def matched_by_hand(line: str, id_: str, name: str | None, last4: str | None) -> MatchedBy | None:
    line = line.strip()
    if id_ == line:
        return MatchedBy.ID
    if id_[: len(line)] == line:
        return MatchedBy.ID_PREFIX
    words = {word for key in (name_key, look_key) for word in key(name or "").split()}
    for key in (name_key, look_key):
        if all([word for word in words if word[: len(each)] == each] for each in key(line).split()):
            return MatchedBy.NAME
    return MatchedBy.LAST4 if last4 is not None and last4 == line else None


def reached(principal: Principal, program_id: str, named: tuple[str, ...] | None) -> bool:
    return principal.tenant_id == TENANT and principal.reaches(program_id) and (named is None or program_id in named)


def searches() -> st.SearchStrategy[list[tuple[Principal, tuple[str, ...] | None, str]]]:
    callers = [(OPERATOR, None), (OPERATOR, PROGRAMS[1:]), (KEY, None), (KEY, PROGRAMS[2:]), (STRANGER, None)]
    each = st.tuples(st.sampled_from(callers), st.sampled_from(LINES))
    return st.lists(each.map(lambda drawn: (*drawn[0], drawn[1])), min_size=5, max_size=10)


@given(rows=transfers(), each_search=searches())
@_SETTINGS
def test_given_random_transfers_when_searched_then_ids_and_amounts_of_newest_versions_come_in_order(
    database: duckdb.DuckDBPyConnection, rows: list[TransferRow], each_search: list[Any]
) -> None:
    commit(emptied(database), rows)
    newest = {(row.id, row.program_id): row for row in rows}
    search = SearchedRows(database)

    for principal, named, line in each_search:
        cents = {"12.00": 1200, "12": 1200, "12.0": 1200, "7899": 789_900}.get(line)
        expected = []
        for row in newest.values():
            matched = matched_by_hand(line, row.id, None, None)
            if matched is None and row.amount_cents == cents:
                matched = MatchedBy.AMOUNT
            if matched is not None and reached(principal, row.program_id, named):
                expected.append((_RANKS.index(matched), -row.bank_created_at, row.id, row.program_id))

        found = search.transfers(principal, terms_of(line), named, LIMIT)

        keys = [(_RANKS.index(row.matched_by), -row.at, row.id, row.program_id) for row in found.rows]
        assert keys == sorted(expected)[:LIMIT], line
        assert found.has_more is (len(expected) > LIMIT)
        assert all(row.amount_cents == newest[row.id, row.program_id].amount_cents for row in found.rows)


@given(rows=parties(), cut=st.integers(0, 25), each_search=searches())
@_SETTINGS
def test_given_random_parties_that_change_when_searched_then_the_newest_name_and_number_count(
    database: duckdb.DuckDBPyConnection, rows: list[CounterpartyRow | AccountRow], cut: int, each_search: list[Any]
) -> None:
    emptied(database)
    index = PartyIndex(database)
    for part in (rows[:cut], rows[cut:]):
        if part:
            commit(database, part)
        index.warm()
    names = {
        (row.id, row.program_id): (row.name, row.account_last4) for row in rows if isinstance(row, CounterpartyRow)
    }
    numbers = dict[tuple[str, str], tuple[None, str | None]]()
    for row in rows:
        if isinstance(row, AccountRow):
            former = numbers.get((row.id, row.program_id), (None, None))
            numbers[row.id, row.program_id] = former if row.raw == "{}" else (None, row.raw[-6:-2])
    known_of: dict[PartyKind, dict[tuple[str, str], Any]] = {
        PartyKind.COUNTERPARTIES: names,
        PartyKind.ACCOUNTS: numbers,
    }

    for principal, named, line in each_search:
        found = index.search(principal, terms_of(line), named, LIMIT)
        for kind, known in known_of.items():
            expected = {
                key: matched
                for key, (name, last4) in known.items()
                if reached(principal, key[1], named)
                and (matched := matched_by_hand(line, key[0], name, last4)) is not None
            }
            shown = [((each.id, each.program_id), each.matched_by) for each in found[kind].parties]
            ranks = [_RANKS.index(matched) for _, matched in shown]
            assert all(expected[key] is matched for key, matched in shown), (kind, line)
            assert ranks == sorted(map(_RANKS.index, expected.values()))[:LIMIT], (kind, line)
            assert found[kind].has_more is (len(expected) > LIMIT)
            assert {(each.id, each.program_id): (each.name, each.last4) for each in found[kind].parties} == {
                key: (known[key][0] or None, known[key][1]) for key, _ in shown
            }
