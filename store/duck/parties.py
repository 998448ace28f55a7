"""Reads entities, counterparties and agents, and finds those due for a fetch or for screening.

How     The newest version of each counts, with the bank's object as last delivered. A version that comes from a
        transfer or from an owner has no object of the bank's, so the object may be that of an older version
Fetch   due by the rows of parties and of earlier fetches. It costs one pass over the ids of the parties' tables and of
        ``directory``, never over transfers; call it from a thread
Screen  due when never screened although it is required, or longer ago than the band's cadence, in whole days as in the
        score's signals of screening. The band is that of the newest score record, to which ticks add the bands that
        time has changed; an entity without one is unscored
Errors  none; an unknown party is an empty list, an unknown agent or import None
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from clearhold.features.core.canonical import SANDBOX_ID
from clearhold.features.core.entries.directory import ACCOUNT_PREFIX, DirectoryKind, PartyKey
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.parties import AgentImportRow, AgentRow, CounterpartyRow, EntityRow
from clearhold.features.core.vocabulary import Band
from clearhold.store.duck.committed_rows import CommittedRows, programs_sql, reached
from clearhold.store.tables import TEXTS, Predicate, listed, row_builder, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter


Row = TypeVar("Row", bound=EntityRow | CounterpartyRow)

_NEWEST: Final = """
    SELECT {columns} FROM {table} WHERE tenant_id = ? AND id = ? {programs}
    QUALIFY row_number() OVER (PARTITION BY program_id ORDER BY "offset" DESC) = 1 ORDER BY program_id"""
_LAST_RAW: Final = """
    SELECT raw FROM {table} WHERE tenant_id = ? AND program_id = ? AND id = ? AND raw <> '{{}}'
    ORDER BY "offset" DESC LIMIT 1"""
_FIRST_KNOWN: Final = """
    SELECT epoch_us(min(created_at)) FROM entities WHERE tenant_id = ? AND program_id = ? AND id = ?"""


class Parties(CommittedRows, Generic[Row]):
    """One table of parties."""

    _words: ClassVar[dict[str, str]]
    _row: Callable[[Sequence[Any]], Row]

    def __init_subclass__(cls, *, table: str, row_type: type[Row]) -> None:
        super().__init_subclass__()
        cls._words = {"table": table, "columns": select_list(row_type)}
        cls._row = staticmethod(row_builder(row_type))

    def find(self, principal: Principal, party_id: str, program_ids: Sequence[str] | None) -> list[Row]:
        """The party of that id in each of the programs (None: of the tenant's) within the principal's reach.

        ForbiddenError when the tenant has it only out of reach.
        """
        if program_ids is not None and not program_ids:
            return []
        sql = _NEWEST.format(programs=programs_sql(program_ids), **self._words)
        rows = self._read(sql, [principal.tenant_id, party_id, *(program_ids or ())])
        return reached(principal, [*map(self._row, rows)])

    def last_raw(self, row: Row) -> str:
        """The bank's newest object of it, masked; an empty one without any."""
        return self._value(_LAST_RAW.format(**self._words), [row.tenant_id, row.program_id, row.id]) or "{}"


class Entities(Parties[EntityRow], table="entities", row_type=EntityRow):
    def created_at(self, row: EntityRow) -> int:
        """The bank's stated time, else that of the first event that named the entity."""
        values = self._first(_FIRST_KNOWN, [row.tenant_id, row.program_id, row.id])
        return row.created_at if values is None else int(values[0])


class Counterparties(Parties[CounterpartyRow], table="counterparties", row_type=CounterpartyRow):
    """The other sides of transfers."""


_AGENT: Final = row_builder(AgentRow)
_IMPORT: Final = row_builder(AgentImportRow)

_NEWEST_SCORE: Final = 'row_number() OVER (PARTITION BY subject_id ORDER BY scored_at DESC, "offset" DESC) = 1'
_PAGE: Final = f"""
    SELECT {select_list(AgentRow)} FROM agents WHERE tenant_id = ? AND program_id = ? AND id > ?
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY "offset" DESC) = 1 ORDER BY id LIMIT ?"""
_PAGE_OF_BANDS: Final = f"""
    WITH bands AS (
        SELECT subject_id AS id, band FROM scores WHERE tenant_id = ? AND program_id = ? AND subject_type = 'agent'
        QUALIFY {_NEWEST_SCORE}
    )
    SELECT {select_list(AgentRow)} FROM agents LEFT JOIN bands USING (id)
    WHERE tenant_id = ? AND program_id = ? AND id > ? AND coalesce(band, '{Band.UNSCORED}') IN {TEXTS}
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY "offset" DESC) = 1 ORDER BY id LIMIT ?"""
_ONE: Final = f"""
    SELECT {select_list(AgentRow)} FROM agents WHERE tenant_id = ? AND program_id = ? AND id = ?
    ORDER BY "offset" DESC LIMIT 1"""
_NEWEST_IMPORT: Final = f"""
    SELECT {select_list(AgentImportRow)} FROM agent_imports WHERE tenant_id = ? AND program_id = ? AND {{matching}}
    ORDER BY "offset" DESC LIMIT 1"""
_FIRST_REGISTERED: Final = """
    SELECT epoch_us(min(registered_at)) FROM (
        SELECT arg_max(registered_at, "offset") AS registered_at FROM agents WHERE tenant_id = ? AND program_id = ?
        GROUP BY id HAVING min("offset") > ?)"""


class Agents(CommittedRows):
    """The caller has checked access to the program."""

    def page(
        self, tenant_id: str, program_id: str, after: str, limit: int, *, bands: Sequence[Band] | None = None
    ) -> list[AgentRow]:
        """The agents of a program after an id, by id; ``bands`` are of their newest score records, None is any."""
        of_program = [tenant_id, program_id]
        if bands is None:
            rows = self._read(_PAGE, [*of_program, after, limit])
        else:
            rows = self._read(_PAGE_OF_BANDS, [*of_program, *of_program, after, listed(bands), limit])
        return [*map(_AGENT, rows)]

    def find(self, tenant_id: str, program_id: str, entity_id: str) -> AgentRow | None:
        row = self._first(_ONE, [tenant_id, program_id, entity_id])
        return None if row is None else _AGENT(row)

    def first_registered(self, tenant_id: str, program_id: str, after: int) -> int | None:
        """The earliest registration among the agents without an entry up to that offset."""
        registered_at: int | None = self._value(_FIRST_REGISTERED, [tenant_id, program_id, after])
        return registered_at


class AgentImports(CommittedRows):
    def newest(self, tenant_id: str, program_id: str) -> AgentImportRow | None:
        """The newest begin or end of an import."""
        return self._one("true", tenant_id, program_id)

    def ended(self, tenant_id: str, program_id: str, import_id: str) -> AgentImportRow | None:
        """The end of an import."""
        return self._one("id = ? AND stage <> 'begun'", tenant_id, program_id, import_id)

    def done(self, tenant_id: str, program_id: str) -> AgentImportRow | None:
        """The last finished import."""
        return self._one("stage = 'done'", tenant_id, program_id)

    def _one(self, matching: str, *values: str) -> AgentImportRow | None:
        selected = self._first(_NEWEST_IMPORT.format(matching=matching), values)
        return None if selected is None else _IMPORT(selected)


_NEWEST_FETCH: Final = """
    SELECT tenant_id, program_id, kind, id, max(fetched_at) AS last_at, arg_max(digest, "offset") AS digest
    FROM directory WHERE {matching} GROUP BY tenant_id, program_id, kind, id"""
# A party may have many rows: the union groups them.
_DUE_FOR_FETCH: Final = f"""
    WITH tenants AS MATERIALIZED {TEXTS},
    parties AS (
        SELECT tenant_id, program_id, 'account' AS kind, id FROM accounts WHERE tenant_id IN (FROM tenants)
        UNION SELECT tenant_id, program_id, 'entity', id FROM entities WHERE tenant_id IN (FROM tenants)
        UNION SELECT tenant_id, program_id, if(starts_with(id, ?), 'account', 'counterparty'), id
        FROM counterparties WHERE tenant_id IN (FROM tenants)),
    newest AS ({_NEWEST_FETCH.format(matching="tenant_id IN (FROM tenants)")})
    SELECT parties.tenant_id, parties.program_id, parties.kind, parties.id, newest.digest
    FROM parties LEFT JOIN newest USING (tenant_id, program_id, kind, id)
    WHERE (newest.last_at IS NULL OR newest.last_at <= make_timestamp(?)) AND NOT regexp_matches(parties.id, ?)
    ORDER BY newest.last_at NULLS FIRST, parties.tenant_id, parties.program_id, parties.kind, parties.id LIMIT ?"""
_KNOWN: Final = f"SELECT DISTINCT tenant_id, program_id, kind, id FROM directory WHERE id IN {TEXTS}"

DueParty = tuple[PartyKey, str | None]
"""A party and the digest of its stored object, or None."""


class DirectoryTable(CommittedRows):
    def due(self, tenant_ids: Collection[str], *, fetched_until: int, limit: int) -> list[DueParty]:
        """The parties never fetched, then those fetched last at that instant or before, the oldest first.

        Without those of the sandbox, which no bank knows.
        """
        if not tenant_ids:
            return []
        values = [listed([*tenant_ids]), ACCOUNT_PREFIX, fetched_until, SANDBOX_ID, limit]
        tuples = self._read(_DUE_FOR_FETCH, values)
        return [(_key(*names), digest) for *names, digest in tuples]

    def never_fetched(self, keys: Iterable[PartyKey]) -> list[PartyKey]:
        """The keys without a recorded fetch, in order."""
        wanted = [*keys]
        if not wanted:
            return []
        tuples = self._read(_KNOWN, [listed([key.id for key in wanted])])
        known = {_key(*names) for names in tuples}
        return [key for key in wanted if key not in known]


def _key(tenant_id: str, program_id: str, kind: str, party_id: str) -> PartyKey:
    return PartyKey(tenant_id, program_id, DirectoryKind(kind), party_id)


_DUE: Final = f"""
    WITH newest AS (
        SELECT program_id, id, requires_screening, epoch_us(last_screened_at) AS screened_at FROM entities
        WHERE {{matching}} QUALIFY row_number() OVER (PARTITION BY program_id, id ORDER BY "offset" DESC) = 1
    ), bands AS (
        SELECT program_id, subject_id AS id, arg_max(band, "offset") AS band FROM scores
        WHERE {{matching}} AND subject_type IN ('entity', 'agent') GROUP BY ALL
    ), cadences AS (
        SELECT unnest(?::VARCHAR[]) AS program_id, unnest(?::VARCHAR[]) AS band, unnest(?::BIGINT[]) AS days
    )
    SELECT newest.program_id, id, coalesce(bands.band, '{Band.UNSCORED}') AS band, requires_screening, screened_at, days
    FROM newest LEFT JOIN bands USING (program_id, id)
    JOIN cadences ON cadences.program_id = newest.program_id AND cadences.band = coalesce(bands.band, '{Band.UNSCORED}')
    WHERE (CASE WHEN screened_at IS NULL THEN requires_screening
        ELSE (?::BIGINT - screened_at) // {DAY_US} > days END)
        AND (newest.program_id, id) > (?, ?)
    ORDER BY newest.program_id, id LIMIT ?"""

Place = tuple[str, str]
"""Where a page ended: program and entity of its last row."""

FIRST: Final[Place] = ("", "")


class DueEntity(NamedTuple):
    """An entity that is due; instants are microseconds."""

    program_id: str
    entity_id: str
    band: str
    requires_screening: bool
    screened_at: int | None
    cadence_days: int


class Rescreening(CommittedRows):
    def due(
        self,
        principal: Principal,
        program_ids: tuple[str, ...] | None,
        cadences: Sequence[tuple[str, str, int]],
        after: Place,
        limit: int,
        *,
        now: int,
    ) -> list[DueEntity]:
        """At most ``limit`` entities after ``after``, by program and id; ``cadences`` are program, band, days."""
        predicate = Predicate(principal)
        predicate.among("program_id", program_ids)
        columns = [[*column] for column in zip(*cadences, strict=True)] if cadences else [[], [], []]
        values = [*predicate.values, *predicate.values, *columns, now, *after, limit]
        return [DueEntity(*row) for row in self._read(_DUE.format(matching=predicate.sql), values)]
