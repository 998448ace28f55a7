"""Arrivals of bank events and scorings of transfers in the last minutes, of all programs of a tenant in two reads.

Unit    instants in microseconds; both by the time at which the log took the entry in
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from clearhold.features.core.instants import HOUR_US, MINUTE_US
from clearhold.features.core.vocabulary import Band
from clearhold.store.duck.committed_rows import CommittedRows

EVENTS_MINUTES: Final = 5
SCORED_US: Final = HOUR_US

_ARRIVED: Final = """
    SELECT program_id, count(*) FROM bank_events
    WHERE tenant_id = ? AND appended_at >= make_timestamp(?) GROUP BY program_id"""
_SCORED: Final = """
    SELECT program_id, band, count(*) FROM (
        SELECT program_id, arg_max(score_band, "offset") AS band FROM transfers
        WHERE tenant_id = ? AND scored_at >= make_timestamp(?) GROUP BY program_id, id
    ) GROUP BY ALL"""


class ProgramActivity(NamedTuple):
    """``events`` that arrived in the last ``EVENTS_MINUTES``; ``scored`` are transfers of the last hour by the band of
    their newest score.
    """

    events: int
    scored: Mapping[Band, int]


class RecentActivity(CommittedRows):
    """Thread-safe; the caller asks for programs within reach."""

    def read(self, tenant_id: str, *, now: int) -> Mapping[str, ProgramActivity]:
        """By program; one without any event and scoring is missing."""
        events = dict(self._read(_ARRIVED, [tenant_id, now - EVENTS_MINUTES * MINUTE_US]))
        scored: dict[str, Counter[Band]] = {}
        for program_id, band, transfers in self._read(_SCORED, [tenant_id, now - SCORED_US]):
            scored.setdefault(program_id, Counter())[Band(band or Band.UNSCORED)] += transfers
        return {each: ProgramActivity(events.get(each, 0), scored.get(each, {})) for each in events | scored}


NO_ACTIVITY: Final = ProgramActivity(0, {})
