"""What a team gets to see of the simulated bank: few alerts of everyday traffic, and every story that history tells."""

from collections import Counter

import msgspec
import pytest

from clearhold.demo.bank import SimulatedBank
from clearhold.demo.moves import Move
from clearhold.demo.parties import LENDING, PAYROLL, REMITTANCE
from clearhold.demo.reporter import Delivery, Reporter
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.vocabulary import Route
from clearhold.features.shard.shard import ShardState
from tests.support.builders import a_program

NOW = 1_790_000_000_000_000
FIRST_DAYS = 30 * DAY_US
MOST_PER_1000 = 20
SEEDS = (1, 5)
TOLD = {
    PAYROLL: {"one card tested": "card_testing"},
    REMITTANCE: {"structuring under $3,000": "structuring_pattern", "undeclared country": "country_outside_declared"},
    LENDING: {"unauthorized returns": "unauthorized_return"},
}


class Seen:
    """A program's history, applied event by event as it was delivered."""

    def __init__(self, bank: SimulatedBank, slug: str, deliveries: list[Delivery], story_of: dict[str, str]) -> None:
        self.story_of = story_of
        self.first_at: dict[str, int] = {}
        self.alerts: dict[str, AlertRow] = {}
        cast = bank.cast[slug]
        program = a_program(
            id=slug,
            slug=slug,
            declared_monthly_volume_cents=str(cast.monthly_cents),
            declared_rails=cast.rails,
            declared_countries=cast.countries,
        )
        self.shard = ShardState(0)
        self._apply(LogEntry(0, 1, EntryKind.PROGRAM, slug, 0, msgspec.json.encode(program)))
        for place, delivery in enumerate(each for each in deliveries if each.program == slug):
            self._apply(LogEntry(0, place + 2, EntryKind.BANK, slug, delivery.due_at, delivery.body))

    def _apply(self, entry: LogEntry) -> None:
        rows: list[msgspec.Struct] = []
        self.shard.apply(entry, rows.append)
        for row in rows:
            if isinstance(row, TransferRow):
                self.first_at.setdefault(row.id, row.bank_created_at)
            elif isinstance(row, AlertRow):
                self.alerts.setdefault(row.id, row)

    def everyday(self) -> tuple[int, Counter[str]]:
        """Transfers after the first 30 days that belong to no story, and the alerts for a person that they opened."""
        since = min(self.first_at.values()) + FIRST_DAYS
        count = sum(1 for transfer, at in self.first_at.items() if at > since and not self.story_of[transfer])
        opened = (row for row in self.alerts.values() if row.route == Route.REVIEWED)
        detectors = (
            row.detector
            for row in opened
            if (row.opened_at if row.transfer_id is None else self.first_at[row.transfer_id]) > since
            and not (row.transfer_id and self.story_of[row.transfer_id])
        )
        return count, Counter(detectors)

    def stories(self) -> set[tuple[str, str]]:
        """The stories that opened an alert for a person, each with its detector."""
        opened = (row for row in self.alerts.values() if row.route == Route.REVIEWED and row.transfer_id)
        return {(self.story_of[row.transfer_id], row.detector) for row in opened if row.transfer_id}


@pytest.fixture(scope="module", params=SEEDS)
def bank(request: pytest.FixtureRequest) -> tuple[SimulatedBank, list[Delivery], dict[str, str]]:
    """A bank, the events of its history, and by transfer the story that it belongs to; empty for everyday traffic."""
    story_of: dict[str, str] = {}
    report = Reporter.report

    def noting(reporter: Reporter, move: Move) -> list[Delivery]:
        deliveries = report(reporter, move)
        story_of.update({each.transfer_id: move.story for each in deliveries if each.transfer_id})
        return deliveries

    simulated = SimulatedBank(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reporter, "report", noting)
        return simulated, simulated.history(NOW), story_of


@pytest.mark.parametrize("slug", [PAYROLL, REMITTANCE, LENDING])
def test_given_everyday_traffic_when_a_month_has_passed_then_a_team_can_work_its_alerts_and_no_story_is_missed(
    slug: str, bank: tuple[SimulatedBank, list[Delivery], dict[str, str]]
) -> None:
    seen = Seen(bank[0], slug, bank[1], bank[2])

    count, detectors = seen.everyday()

    assert count > 800
    assert detectors.total() * 1_000 <= MOST_PER_1000 * count, detectors
    assert set(TOLD[slug].items()) <= seen.stories()
