"""Reads committed rows: the base of all readers, and rows in the order of lists.

How     A list has the highest of one column first, then by id; the newest version of each. A page asks for the newest
        raw versions that match, which DuckDB finds without reading old row groups, and then checks which of them are
        still the newest of their thing; if too few are, it asks for further ones. Only rows after their offsets are
        checked, because a newer version always has a higher one
Errors  none; an unknown row is None
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Final, Generic, Self, TypeVar, cast

import duckdb
import msgspec

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.events import EventRow
from clearhold.features.core.rows.parties import CounterpartyRow, EntityRow
from clearhold.store.duck.turns import in_turn
from clearhold.store.tables import NUMBERS, TEXTS, Predicate, listed, placeholders, row_builder, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter


class CommittedRows:
    """Reads committed rows from any thread, each time on a new cursor. The caller opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def _read(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        in_turn()
        with self._connection.cursor() as cursor:
            return cursor.execute(sql, values).fetchall()

    def _first(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The first row, or None."""
        in_turn()
        with self._connection.cursor() as cursor:
            return cursor.execute(sql, values).fetchone()

    def _value(self, sql: str, values: Sequence[Any]) -> Any:
        """The first column of the first row, None without one."""
        row = self._first(sql, values)
        return None if row is None else row[0]


def programs_sql(program_ids: Sequence[str] | None) -> str:
    """A further condition for rows of these programs; None is any."""
    return "" if program_ids is None else f"AND program_id IN {placeholders(program_ids)}"


InProgram = TypeVar("InProgram", bound=EventRow | EntityRow | CounterpartyRow)


def reached(principal: Principal, rows: list[InProgram]) -> list[InProgram]:
    """The rows within the principal's reach; ForbiddenError when all of them are outside a key's mode."""
    within = [row for row in rows if principal.reaches(row.program_id)]
    if rows and not within:
        principal.finds(rows[0].program_id)
    return within


class OpenCursor:
    """Reads on one cursor, in one thread; closed at the end of a ``with``."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._cursor = database.cursor()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()

    def interrupt(self) -> None:
        """From another thread: interrupt the statement of the reading thread."""
        self._cursor.interrupt()


class RowFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of a list, under the names of its parameters: None is any, an empty tuple matches nothing. Instants
    are half-open, microseconds.
    """

    program_ids: tuple[str, ...] | None = msgspec.field(default=None, name="programId")

    def predicate(self, principal: Principal) -> Predicate:
        """The conditions of all filters, within the principal's reach."""
        predicate = Predicate(principal)
        predicate.among("program_id", self.program_ids)
        return predicate


LEAST_CANDIDATES: Final = 200
MOST_CANDIDATES: Final = 20_000
_GROWTH: Final = 4  # Undecided rows may lie behind many decided ones: a few steps reach the most candidates.

Row = TypeVar("Row", bound=msgspec.Struct)
Stored = TypeVar("Stored")

Place = tuple[int, *tuple[str, ...]]
"""Where a page ended: the instant, or the rank, and the identity of its last row."""

RowKey = tuple[Any, ...]
"""The identity of a thing, and the offset of its version."""

_CANDIDATES: Final = """
    SELECT {key}, {by}, "offset" FROM {table} WHERE {matching} ORDER BY {at} DESC, {by}, "offset" DESC LIMIT ?"""
_NEWEST: Final = f"""
    SELECT {{by}}, max("offset") FROM {{table}}
    WHERE tenant_id = ? AND "offset" >= ? AND id IN {TEXTS} GROUP BY {{by}}"""
_KEYS: Final = """
    SELECT {by}, "offset" FROM {table} SEMI JOIN (
        SELECT {by}, max("offset") AS "offset" FROM {table}
        WHERE {within} AND "offset" >= (SELECT min("offset") FROM {table} WHERE {matching}) GROUP BY {by}
    ) AS newest USING ({by}, "offset") WHERE {matching} ORDER BY {at} DESC, {by}"""
_OF_KEYS: Final = f"""
    SELECT {{columns}} FROM {{table}} WHERE tenant_id = ? AND "offset" BETWEEN ? AND ?
    AND "offset" IN {NUMBERS} AND id IN {TEXTS}"""
_FIND: Final = """
    SELECT {columns} FROM {table} WHERE tenant_id = ? AND id = ? ORDER BY "offset" DESC LIMIT 1"""
_AFTER: Final = "{at} <= {bound} AND ({at} < {bound} OR ({by}) > {mark})"


def order_words(*, at: str = "", rank: str = "") -> dict[str, str]:
    """The words of statements for an order by an instant, or by a rank, which may be an expression."""
    key, bound = (rank, "?") if rank else (f"epoch_us({at})", "make_timestamp(?)")
    return {"at": rank or at, "key": key, "bound": bound}


NO_WORDS: Final[Mapping[str, str]] = {}


class Timeline(CommittedRows, Generic[Row, Stored]):
    """One table, whose rows have tenant_id, program_id, id and offset; ``Stored`` is a row with its parts.

    ``at`` is an instant, or a ``rank`` in its place, which only rises: a row whose rank rises between two pages moves
    ahead of them. ``by`` are the columns that identify a thing of a tenant, its id first; they order equal instants.
    """

    _words: ClassVar[dict[str, str]]
    _row: Callable[[Sequence[Any]], Row]
    _key_of: Callable[[Row], RowKey]

    def __init_subclass__(
        cls,
        *,
        table: str,
        row_type: type[Row],
        at: str = "",
        rank: str = "",
        by: tuple[str, ...] = ("id",),
    ) -> None:
        super().__init_subclass__()
        cls._words = {"table": table, "columns": select_list(row_type)}
        cls._words |= order_words(at=at, rank=rank) | {"by": ", ".join(by), "mark": placeholders(by)}
        cls._row = staticmethod(row_builder(row_type))
        cls._key_of = staticmethod(attrgetter(*by, "offset"))

    def find(self, principal: Principal, row_id: str) -> Stored | None:
        """ForbiddenError when the tenant has it on a program outside a key's mode, or as a whole."""
        values = self._first(_FIND.format(**self._words), [principal.tenant_id, row_id])
        if values is None:
            return None
        row = self._row(values)
        if not principal.finds(row.program_id):  # type: ignore[attr-defined]  # as the class says of its rows
            return None
        return self._stored(principal, [row])[0]

    def list_page(self, principal: Principal, wanted: RowFilter, after: Place | None, limit: int) -> list[Stored]:
        """At most ``limit`` rows after ``after``: the highest instant or rank first."""
        return self.page(principal, wanted.predicate(principal), after, limit)

    def export(self, principal: Principal, wanted: RowFilter, batch: int) -> Iterator[list[Stored]]:
        """All rows in the order of pages, ``batch`` at a time, in the state at the first batch.

        Only keys are sorted, from a cursor of the database; their rows, which never change, are read batch by batch. So
        memory stays bounded, and a slow reader delays no writer.
        """
        within, matching = Predicate(principal), wanted.predicate(principal)
        sql = _KEYS.format(matching=matching.sql, within=within.sql, **self._words)
        with self._connection.cursor() as keys:
            keys.execute(sql, [*within.values, *matching.values, *matching.values])
            while tuples := keys.fetchmany(batch):
                yield self.of_keys(principal, tuples)

    def page(self, principal: Principal, wanted: Predicate, after: Place | None, limit: int) -> list[Stored]:
        """At most ``limit`` rows after ``after``."""
        return self.of_keys(principal, self.page_keys(principal, wanted, after, limit))

    def page_keys(
        self,
        principal: Principal,
        wanted: Predicate,
        after: Place | None,
        limit: int,
        order: Mapping[str, str] = NO_WORDS,
    ) -> list[RowKey]:
        """The keys of at most ``limit`` rows after ``after``; ``order`` are the ``order_words`` of another order, by
        a number that no version of a row changes.
        """
        words = self._words | dict(order)
        keys: list[RowKey] = []
        candidate_limit = max(LEAST_CANDIDATES, 2 * limit)
        while len(keys) < limit:
            sql, values = wanted.sql, [*wanted.values, candidate_limit]
            if after is not None:
                sql += f" AND {_AFTER.format(**words)}"
                values[-1:] = [after[0], *after, candidate_limit]
            candidates = self._read(_CANDIDATES.format(matching=sql, **words), values)
            keys += self._still_newest(principal, [candidate[1:] for candidate in candidates])
            if len(candidates) < candidate_limit:
                break
            after = candidates[-1][:-1]
            candidate_limit = min(_GROWTH * candidate_limit, MOST_CANDIDATES)
        return keys[:limit]

    def of_keys(self, principal: Principal, keys: Sequence[RowKey]) -> list[Stored]:
        """The versions with these keys, in their order."""
        if not keys:
            return []
        ids, offsets = [key[0] for key in keys], sorted({key[-1] for key in keys})
        values = [principal.tenant_id, offsets[0], offsets[-1], listed(offsets), listed(ids)]
        rows = map(self._row, self._read(_OF_KEYS.format(**self._words), values))
        of_key = {self._key_of(row): row for row in rows}
        return self._stored(principal, [of_key[key] for key in keys])

    def _stored(self, _: Principal, rows: list[Row]) -> list[Stored]:
        """At least one row, each with its parts; here the rows alone."""
        return cast("list[Stored]", rows)

    def _still_newest(self, principal: Principal, candidates: Sequence[RowKey]) -> list[RowKey]:
        """The candidates, in order, without superseded ones; only rows after their offsets can supersede them."""
        if not candidates:
            return []
        ids = sorted({key[0] for key in candidates})
        values = [principal.tenant_id, min(key[-1] for key in candidates), listed(ids)]
        newest = set(self._read(_NEWEST.format(**self._words), values))
        return [key for key in candidates if key in newest]
