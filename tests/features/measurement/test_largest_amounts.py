"""The largest amounts that a bank may state: every sum of them fits into the 64 bits of its column."""

import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.instants import HOUR_US
from clearhold.features.core.money import MAX_CENTS, MOST_COUNTED_CENTS
from clearhold.features.core.rows.events import TransferRow
from clearhold.store.tables import row_tables
from tests.support.stories import ShardStory

TRANSFERS = 60


@pytest.mark.parametrize("way", ["out", "in", "through"])
def test_given_sixty_of_the_largest_amounts_when_landed_then_no_vector_is_lost_and_sums_are_their_sums(
    way: str,
) -> None:
    story = ShardStory()
    for number in range(TRANSFERS):
        is_out = way == "out" or (way == "through" and number % 2)
        ends = ("enti_1", "cpty_1") if is_out else ("cpty_1", "enti_1")
        vector = story.wire(*ends, MAX_CENTS, number * HOUR_US // 4)

    kinds = (TransferFeaturesRow, TransferRow)
    tables = row_tables({kind: [row for row in story.rows if isinstance(row, kind)] for kind in kinds})

    assert "QuarantineRow" not in tables
    assert tables["TransferFeaturesRow"].num_rows == TRANSFERS
    assert set(tables["TransferRow"].column("amount_cents").to_pylist()) == {MAX_CENTS}
    assert vector.velocity_24h_sum_cents == TRANSFERS * MOST_COUNTED_CENTS
