"""Rows of facts that become links in the chains of a tenant's record, and how an entry hands over its rows.

The row types stand in this folder, one module for each group of tables. ``store/duck/schema.py`` makes the tables from
them.

Field order is column order. Instants are microseconds since the epoch, money is integer cents.
"""

from collections.abc import Callable

import msgspec


class EntryRow(msgspec.Struct, frozen=True, gc=False):
    """A row of one program that a log entry gives; a row without an id is known by its place in the log."""

    tenant_id: str
    program_id: str
    shard: int
    offset: int


class ObjectRow(msgspec.Struct, frozen=True, gc=False):
    """One version of an object of a program; the one with the highest offset is the newest."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int


class ChainFactRow(msgspec.Struct, frozen=True, gc=False):
    """One fact for the record: the writer links it to its tenant's chain (``store/record``) as it commits.

    ``chain`` is dispositions or actions; ``body`` is the fact's canonical JSON (``features/core/canonical.py``).
    """

    tenant_id: str
    program_id: str
    chain: str
    id: str
    shard: int
    offset: int
    body: str
    created_at: int


Emit = Callable[[msgspec.Struct], None]
"""Takes one row. Rows are emitted one by one, in the order in which they are committed."""


def no_rows(_: msgspec.Struct) -> None:
    """The ``Emit`` of an entry with committed rows: rows that are built for many entries are not built for it."""
