"""The names, ids and last four of entities, counterparties, accounts and agents, in memory, for search.

How     A read first takes in the parties with rows that were committed since the last one, which DuckDB finds by
        ``rowid``; the first read takes in the tables. A search is a pass over the columns of one tenant's parties
Cost    70 to 120 bytes a party. The first read of 150,000 parties takes a second of processor time
Order   ids first, then ids that begin so, names that begin so, other names, and last four; of equal ones by name, id
        and program
"""

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from threading import Lock
from typing import Any, Final, Literal, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from clearhold.features.core.principal import Principal
from clearhold.features.core.search_terms import MatchedBy, SearchTerms, words_of
from clearhold.store.duck.accounts import last_four_of
from clearhold.store.duck.committed_rows import CommittedRows

# ruff: noqa: S608 - statements are built from constants; every value is a parameter


class PartyKind(StrEnum):
    """Each in the name of its table."""

    ENTITIES = "entities"
    COUNTERPARTIES = "counterparties"
    ACCOUNTS = "accounts"
    AGENTS = "agents"


class FoundParty(NamedTuple):
    id: str
    program_id: str
    name: str | None
    last4: str | None
    matched_by: MatchedBy


class FoundParties(NamedTuple):
    parties: list[FoundParty]
    has_more: bool


MOST_CHUNKS: Final = 32
_LAST: Final = 'arg_max(struct_pack(v := {}), "offset").v'  # of the newest row, which arg_max leaves out for a null
_VALUES: Final = {
    PartyKind.ENTITIES: (_LAST.format("name"), "NULL", "NULL"),
    PartyKind.COUNTERPARTIES: (_LAST.format("name"), _LAST.format("account_last4"), "NULL"),
    PartyKind.ACCOUNTS: ("NULL", "NULL", """arg_max(raw, "offset") FILTER (raw <> '{}')"""),
    PartyKind.AGENTS: (_LAST.format("name"), "NULL", _LAST.format("wallet")),
}
_NEWEST_ROWS: Final = "SELECT " + ", ".join(f"(SELECT max(rowid) FROM {kind})" for kind in PartyKind)
_CHANGED: Final = {
    kind: f"""
    SELECT tenant_id, program_id, id, {", ".join(values)} FROM {kind} SEMI JOIN (
        SELECT DISTINCT tenant_id, program_id, id FROM {kind} WHERE rowid > $since AND rowid <= $upto
    ) AS changed USING (tenant_id, program_id, id)
    WHERE rowid <= $upto GROUP BY tenant_id, program_id, id ORDER BY tenant_id, program_id, id"""
    for kind, values in _VALUES.items()
}
_SCHEMA: Final = pa.schema([(name, pa.string()) for name in ("id", "program_id", "name", "words", "last4")])
_RANKS: Final = (MatchedBy.ID, MatchedBy.ID_PREFIX, MatchedBy.NAME, MatchedBy.NAME, MatchedBy.LAST4)
_ORDER: Final[list[tuple[str, Literal["ascending", "descending"]]]] = [
    ("rank", "ascending"),
    ("words", "ascending"),
    ("id", "ascending"),
    ("program_id", "ascending"),
]

_Values = tuple[str, str, str | None, str, str | None]
"""Of the columns of ``_SCHEMA``. The words have a blank before each, and one behind the last."""


class _Parties:
    """The parties of one tenant and kind, in a table that is replaced and never changed."""

    def __init__(self) -> None:
        self.table: Any = _SCHEMA.empty_table()

    def take(self, rows: Sequence[_Values]) -> None:
        """Replace the former state of these parties."""
        table = self.table
        if table.num_rows:
            keys = {(id_, program_id) for id_, program_id, *_ in rows}
            ids = pa.array(sorted({id_ for id_, _ in keys}), pa.string())
            known = table.filter(pc.is_in(table["id"], value_set=ids)).select(["id", "program_id"]).to_pylist()
            stale = keys.intersection((each["id"], each["program_id"]) for each in known)
            if stale:
                table = table.filter(pc.invert(_any_of(table, stale)))
        columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
        table = pa.concat_tables([table, pa.Table.from_arrays(columns, schema=_SCHEMA)])
        self.table = table.combine_chunks() if table["id"].num_chunks > MOST_CHUNKS else table


def _search(table: Any, terms: SearchTerms, program_ids: Sequence[str] | None, limit: int) -> FoundParties:
    if program_ids is not None and table.num_rows:
        table = table.filter(pc.is_in(table["program_id"], value_set=pa.array(program_ids, pa.string())))
    if not table.num_rows:
        return FoundParties([], has_more=False)
    named, first = _names(table, terms)
    has_last4 = pc.equal(table["last4"], pa.scalar(terms.last4, pa.string()))
    conditions = (
        pc.equal(table["id"], pa.scalar(terms.id)),
        pc.starts_with(table["id"], terms.id),
        first,
        named,
        pc.fill_null(has_last4, pa.scalar(value=False)),
    )
    parts = [each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in conditions]
    ranks = (pa.scalar(number, pa.int8()) for number in range(len(_RANKS)))
    rank: Any = pc.case_when(pa.StructArray.from_arrays(parts, names=[str(number) for number in range(5)]), *ranks)
    matching = table.append_column("rank", rank).filter(pc.is_valid(rank))
    if not matching.num_rows:
        return FoundParties([], has_more=False)
    rows = matching.take(pc.select_k_unstable(matching, k=limit + 1, sort_keys=_ORDER)).to_pylist()
    parties = [
        FoundParty(row["id"], row["program_id"], row["name"], row["last4"], _RANKS[row["rank"]]) for row in rows[:limit]
    ]
    return FoundParties(parties, len(rows) > limit)


def _any_of(table: Any, keys: set[tuple[str, str]]) -> Any:
    """The rows with these ids and programs."""
    of_program = defaultdict[str, list[str]](list)
    for id_, program_id in keys:
        of_program[program_id].append(id_)
    matches: Any = pc.is_null(table["id"])  # none
    for program_id, ids in of_program.items():
        among = pc.is_in(table["id"], value_set=pa.array(ids, pa.string()))
        matches = pc.or_(matches, pc.and_(among, pc.equal(table["program_id"], pa.scalar(program_id))))
    return matches


def _names(table: Any, terms: SearchTerms) -> tuple[Any, Any]:
    """Which rows have the name, and which begin with it."""
    named: Any = pc.is_null(table["id"])  # none
    first: Any = named
    for spelt in terms.spellings:
        every: Any = pc.is_valid(table["id"])
        for word in spelt:
            every = pc.and_(every, pc.match_substring(table["words"], f" {word}"))
        named = pc.or_(named, every)
        first = pc.or_(first, pc.starts_with(table["words"], f" {' '.join(spelt)}"))
    return named, first


class PartyIndex(CommittedRows):
    """Thread-safe. One for the process."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(connection)
        self._lock = Lock()
        self._read_upto = dict.fromkeys(PartyKind, -1)
        self._parties = defaultdict[tuple[str, PartyKind], _Parties](_Parties)

    def search(
        self, principal: Principal, terms: SearchTerms, program_ids: Sequence[str] | None, limit: int
    ) -> dict[PartyKind, FoundParties]:
        """At most ``limit`` parties of each kind, of the programs (None: of the tenant's) within reach."""
        reach = principal.program_ids
        if reach is not None:
            program_ids = sorted(reach if program_ids is None else reach.intersection(program_ids))
        with self._lock:
            self._catch_up()
            tables = {kind: self._parties[principal.tenant_id, kind].table for kind in PartyKind}
        return {kind: _search(table, terms, program_ids, limit) for kind, table in tables.items()}

    def warm(self) -> None:
        """Take in the tables, so that no caller waits for them."""
        with self._lock:
            self._catch_up()

    def _catch_up(self) -> None:
        for kind, newest in zip(PartyKind, self._first(_NEWEST_ROWS), strict=True):
            since, upto = self._read_upto[kind], -1 if newest is None else newest
            if upto > since:
                self._take(kind, since, upto)
                self._read_upto[kind] = upto

    def _take(self, kind: PartyKind, since: int, upto: int) -> None:
        of_tenant = defaultdict[str, list[_Values]](list)
        for tenant_id, *values in self._read(_CHANGED[kind], {"since": since, "upto": upto}):
            of_tenant[tenant_id].append(_values_of(kind, *values))
        for tenant_id, rows in of_tenant.items():
            self._parties[tenant_id, kind].take(rows)


def _values_of(
    kind: PartyKind, program_id: str, id_: str, name: str | None, last4: str | None, further: str | None
) -> _Values:
    """``further`` is an account's object, or an agent's wallet, which is one of its words."""
    words = words_of(name or "")
    if kind is PartyKind.ACCOUNTS:
        last4 = last_four_of(further)
    elif further is not None:
        words = (*words, further.lower())
    return id_, program_id, name or None, f" {' '.join(words)} ", last4
