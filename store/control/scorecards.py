"""Projection of the control streams: reports on each tenant's scorecards, cards that scored, and cards in shadow.

The cards themselves are policies (``store/control/policies.py``), so programs get them like any other.
"""

from typing import Final

import msgspec

from clearhold.features.policy.bodies import SCORECARD, prefix_of
from clearhold.store.control.entries import (
    ChallengerEntry,
    PolicyActivatedEntry,
    ScorecardReportEntry,
)

KEPT_REPORTS: Final = 2
"""The newest reports on a card; older ones stay in the log alone."""


class StoredReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report of ``clearhold calibrate`` on one exact card. Instants are in microseconds.

    ``made_at`` is stated by the report; its age counts from it. ``body`` is kept as JSON, a fraction of its decoded
    size.
    """

    sha256: str
    card_sha256: str
    made_at: int
    received_at: int
    by: str
    body: bytes


class TenantScorecards:
    """The reports and shadows of one tenant's scorecards, without the cards."""

    def __init__(self) -> None:
        self._reports: dict[str, tuple[StoredReport, ...]] = {}
        self._scored: set[str] = set()
        self._shadows: dict[str | None, str] = {}
        self._started: dict[str, int] = {}  # when each card last came into shadow

    def add_report(self, entry: ScorecardReportEntry) -> None:
        """Add a report in order of age; an older one that arrives late does not replace a newer one."""
        known = (each for each in self.reports(entry.version) if each.sha256 != entry.report_sha256)
        newest = sorted((stored_report(entry), *known), key=lambda each: each.made_at, reverse=True)
        self._reports[entry.version] = tuple(newest[:KEPT_REPORTS])

    def note_activation(self, entry: PolicyActivatedEntry) -> None:
        if prefix_of(entry.version) == SCORECARD:
            self._scored.add(entry.version)

    def put_challenger(self, entry: ChallengerEntry) -> None:
        if entry.scorecard is None:
            self._shadows.pop(entry.created.program_id, None)
            return
        self._shadows[entry.created.program_id] = entry.scorecard
        self._started[entry.scorecard] = entry.activated.at

    def reports(self, version: str) -> tuple[StoredReport, ...]:
        """Newest first."""
        return self._reports.get(version, ())

    def has_scored(self, version: str) -> bool:
        """Whether it is or was in force."""
        return version in self._scored

    def shadow_start(self, version: str) -> int | None:
        """When a card last came into shadow, whether it is there now or not."""
        return self._started.get(version)

    def shadow(self, program_id: str | None) -> str | None:
        """The version that runs in shadow for a program alone, or for the whole tenant."""
        return self._shadows.get(program_id)


def stored_report(entry: ScorecardReportEntry) -> StoredReport:
    return StoredReport(
        sha256=entry.report_sha256,
        card_sha256=entry.card_sha256,
        made_at=entry.made_at,
        received_at=entry.at,
        by=entry.by,
        body=bytes(entry.report),
    )


class Scorecards:
    """The scorecards of every tenant."""

    def __init__(self) -> None:
        self._tenants: dict[str, TenantScorecards] = {}

    def of_tenant(self, tenant_id: str) -> TenantScorecards:
        return self._tenants.setdefault(tenant_id, TenantScorecards())

    def add_report(self, tenant_id: str, entry: ScorecardReportEntry) -> None:
        self.of_tenant(tenant_id).add_report(entry)
