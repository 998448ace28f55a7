"""What the database says of alerts does not depend on where the pages of entries ended."""

from typing import Final

import duckdb
import msgspec
import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.rows.alerts import AlertRow, AlertTransferRow
from clearhold.features.core.rows.events import EventRow, TransferRow
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.inputs import Events
from clearhold.store.duck.scorings.rule_backtests import RuleBacktest
from clearhold.store.tables import Span, row_tables
from tests.features.shard.test_pages import busy_story, decided_story, in_pages
from tests.support.duck_rows import TENANT
from tests.support.principals import an_operator
from tests.support.rules import a_condition, a_rule
from tests.support.stories import ShardStory

TRANSFERS: Final = 40
PAGES: Final = (2, 7, 1_000)
READ: Final = (AlertRow, AlertTransferRow, EventRow, TransferFeaturesRow, TransferRow)
STORIES: Final = {"busy": busy_story(TRANSFERS), "decided": decided_story()}
each_story = pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
each_size = pytest.mark.parametrize("size", PAGES)


def rows_of(story: ShardStory, size: int) -> list[msgspec.Struct]:
    """The rows of the story in pages of this size, those that the tests read."""
    rows = (row for row in in_pages(story.entries, size)[0] if isinstance(row, READ))
    return [msgspec.structs.replace(row, tenant_id=TENANT) for row in rows]


def committed(database: duckdb.DuckDBPyConnection, story: ShardStory, size: int) -> list[msgspec.Struct]:
    rows = rows_of(story, size)
    BatchWriter(database).commit(row_tables({kind: [row for row in rows if type(row) is kind] for kind in READ}), {}, 1)
    return rows


def joined_or_opened(rows: list[msgspec.Struct]) -> dict[int, set[str]]:
    """The alerts by the offset of an entry that wrote them."""
    alerts: dict[int, set[str]] = {}
    for row in rows:
        if isinstance(row, AlertRow):
            alerts.setdefault(row.offset, set()).add(row.id)
    return alerts


@each_story
@each_size
def test_given_entries_of_one_page_then_each_delivery_has_the_alerts_that_it_opened_or_joined(
    database: duckdb.DuckDBPyConnection, story: ShardStory, size: int
) -> None:
    expected = joined_or_opened(rows_of(story, 1))
    rows = committed(database, story, size)
    events, operator = Events(database), an_operator(TENANT)

    deliveries = [row for row in rows if isinstance(row, EventRow)]

    assert max(len(expected.get(row.offset, ())) for row in deliveries) >= 1
    for row in deliveries:
        wanted = expected.get(row.offset, set())
        assert set(events.consequences(row).alert_ids) == wanted
        assert wanted <= set(events.alerts_of(operator, row.program_id, [row.event_id], but=()))


@each_story
@each_size
def test_given_entries_of_one_page_then_a_backtest_counts_every_transfer_that_is_in_an_alert(
    database: duckdb.DuckDBPyConnection, story: ShardStory, size: int
) -> None:
    rows = committed(database, story, size)
    scorings = [row for row in rows if isinstance(row, TransferFeaturesRow)]
    span = Span(min(row.taken_at for row in scorings), max(row.taken_at for row in scorings) + 1)
    rule = a_rule(a_condition("amountCents", "gte", 0))

    counts = RuleBacktest(database, an_operator(TENANT), rule, None, span).over_all()

    versions = (row for row in rows_of(story, 1) if isinstance(row, AlertRow))
    alerted = {transfer for row in versions for transfer in msgspec.json.decode(row.evidence)["transferIds"]}
    assert sum(each.alerted for each in counts.matches) == len(alerted)
