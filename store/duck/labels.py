"""Reads labels, the verdicts of people, returns and imports on transfers, and results of entries by their id.

The last label of a transfer is the one in force.

Errors  none; an unknown label is None
"""

from typing import Final

import msgspec

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import EntryResultRow, LabelRow
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.timeline import Place, Timeline
from clearhold.store.tables.predicate import Predicate

_TABLE: Final = Timeline("labels", LabelRow, at="created_at")


class LabelFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of a list. None is any. Instants are half-open, microseconds."""

    program_ids: tuple[str, ...] | None = None
    transfer_ids: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    created_from: int | None = None
    created_to: int | None = None


class Labels(CommittedRows):
    def find(self, principal: Principal, label_id: str) -> LabelRow | None:
        """ForbiddenError when the tenant has it on a program out of the principal's reach."""
        with self._connection.cursor() as cursor:
            return _TABLE.find(cursor, principal, label_id)

    def list_page(self, principal: Principal, wanted: LabelFilter, after: Place | None, limit: int) -> list[LabelRow]:
        predicate = Predicate(principal)
        predicate.among("program_id", wanted.program_ids)
        predicate.among("transfer_id", wanted.transfer_ids)
        predicate.among("label", wanted.labels)
        predicate.between("created_at", wanted.created_from, wanted.created_to)
        with self._connection.cursor() as cursor:
            return _TABLE.page(cursor, principal, predicate, after, limit)


_RESULTS: Final = Timeline("decision_results", EntryResultRow, at="created_at")


class EntryResults(CommittedRows):
    """The results of decisions, appeals and labels by the id of their log entry."""

    def find(self, principal: Principal, entry_id: str) -> EntryResultRow | None:
        """ForbiddenError when the entry belongs to a program out of the principal's reach."""
        with self._connection.cursor() as cursor:
            return _RESULTS.find(cursor, principal, entry_id)
