"""Supporting transfers that are read together are those that are read one by one; a busy party's are no dearer."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from random import Random
from types import SimpleNamespace
from typing import Any, Final, cast
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.thresholds import MICRO_BELOW_CENTS, is_round, lines_of
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.money import (
    ACH_CLASSES,
    ACH_DEBIT,
    CARD_CLASSES,
    ORIGINATED_CLASS,
    OUTGOING_CLASSES,
    RAIL_CLASSES,
)
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.detectors import places, program, supporting
from clearhold.features.detectors.detector import DetectionContext
from clearhold.features.detectors.places import NAMED, Flags, Keep
from clearhold.features.shard.shard import ShardState
from clearhold.features.state import read_transfers
from clearhold.features.state.program import ProgramState
from clearhold.features.state.read_transfers import MOST_READ
from clearhold.features.state.transfer_table import (
    AT,
    NO_PLACES,
    ROW,
    Places,
    TransferBrief,
    TransferTable,
    priced,
)
from clearhold.features.windows.edges import Edges
from clearhold.features.windows.id_index import StringTable
from clearhold.features.windows.narrow_table import NarrowTable
from clearhold.features.windows.series_kinds import DECLINED, FRAUD_REASONS
from tests.features.state.test_transfer_columns import a_record
from tests.oracle.random_streams import stream_of
from tests.support.stories import ShardStory, detector_story

MINUTE: Final = HOUR // 60
WORDS: Final = (DECLINED, "APPROVED", *sorted(FRAUD_REASONS))
AMOUNTS: Final = (
    *(-1, 0, 1, 99, 100, 101, 11_249, 11_250, 12_500, 13_750, 13_751, 239_999, 240_000, 299_999, 300_000),
    *(499_999, 500_000, 600_000, 600_001, 799_999, 800_000, 999_999, 1_000_000, 10**16),
)
Plain = Callable[[DetectionContext, TransferBrief], bool]


def _is_alike(context: DetectionContext, brief: TransferBrief) -> bool:
    cents = context.vector.amount_cents or 0
    return cents - cents // 10 <= brief.cents <= cents + cents // 10


def _is_in_zone(context: DetectionContext, brief: TransferBrief) -> bool:
    lines = lines_of(context.vector.structuring_thresholds)
    own = set(lines.zones(context.vector.amount_cents))
    return brief.class_id not in CARD_CLASSES and not own.isdisjoint(lines.zones(brief.cents))


def _is_micro(_context: DetectionContext, brief: TransferBrief) -> bool:
    cents = priced(brief.cents)
    return brief.class_id in ACH_CLASSES and cents is not None and cents < MICRO_BELOW_CENTS


def _is_fraud_declined(context: DetectionContext, brief: TransferBrief) -> bool:
    status, reason = map(context.program.strings.text, (brief.status, brief.card_reason))
    return brief.class_id in CARD_CLASSES and status == DECLINED and reason in FRAUD_REASONS


def _is_originated(_context: DetectionContext, brief: TransferBrief) -> bool:
    return brief.moved and brief.class_id == ORIGINATED_CLASS and brief.ach_type == ACH_DEBIT


def _is_in_thousands(_context: DetectionContext, brief: TransferBrief) -> bool:
    return brief.class_id not in CARD_CLASSES and is_round(brief.cents)


PLAIN: Final[dict[str, tuple[Keep, Plain]]] = {
    "alike": (places.alike, _is_alike),
    "in zone": (places.in_zone, _is_in_zone),
    "in thousands": (places.in_thousands, _is_in_thousands),
    "micro": (places.micro, _is_micro),
    "but cards": (places.but_cards, lambda _, brief: brief.class_id not in CARD_CLASSES),
    "outgoing": (places.of_classes(OUTGOING_CLASSES), lambda _, brief: brief.class_id in OUTGOING_CLASSES),
    "fraud declined": (places.fraud_declined, _is_fraud_declined),
    "originated": (places.originated, _is_originated),
}


@pytest.mark.parametrize("name", PLAIN)
@settings(max_examples=30, deadline=None)
@given(
    own=st.one_of(st.none(), st.sampled_from(AMOUNTS[1:])),
    lines=st.sampled_from(("", "300000", "300000,1000000", "250000,300000,1000000")),
    seed=st.integers(0, 2**32),
)
def test_given_transfers_when_they_are_selected_together_then_each_is_selected_as_alone(
    name: str, own: int | None, lines: str, seed: int
) -> None:
    chance, table, strings = Random(seed), TransferTable(), StringTable()
    words = [strings.number(word) for word in WORDS]
    for row in range(40):
        record = a_record(
            cents=chance.choice(AMOUNTS),
            class_id=chance.randrange(len(RAIL_CLASSES)),
            ach_type=chance.randrange(3),
            moved=chance.random() < 0.5,
            status=chance.choice(words),
            card_reason=chance.choice(words),
        )
        table.add(f"acht_{row}", record)
    state = SimpleNamespace(strings=strings, transfers=table)
    vector = SimpleNamespace(amount_cents=own, structuring_thresholds=lines)
    context = cast(DetectionContext, SimpleNamespace(vector=vector, program=state))
    keep, plain = PLAIN[name]

    selected = keep(context, table.places(np.arange(40)))

    assert selected.tolist() == [plain(context, table.glance(row)) for row in range(40)]


def places_at(state: ProgramState, pairs: Iterable[tuple[int, int]]) -> Places:
    """The transfers of these own times and rows, each read from its row alone."""
    columns = [[*read_from(state.transfers, row)] for _, row in pairs]
    return np.array(columns, np.int64).reshape(-1, len(NO_PLACES)).T


def read_from(table: TransferTable, row: int) -> list[int]:
    place = table._records.read(row)[: len(NO_PLACES)]
    place[ROW] = row
    return place


def plain_within(state: ProgramState, edges: Iterable[Edges], after: int, upto: int, most: int = MOST_READ) -> Places:
    columns = [each.newest_places(after, upto, most) for each in edges]
    return places_at(state, sorted({place for each in columns for place in zip(*each, strict=True)})[-most:])


def plain_newest_of_program(state: ProgramState, after: int, upto: int, keep: Callable[[Places], Flags]) -> Places:
    newest = [(state.transfers.read(row).at, row) for row in reversed(range(len(state.transfers))[-MOST_READ:])]
    among = [place for place in newest if after < place[0] <= upto and keep(places_at(state, [place]))[0]]
    return places_at(state, sorted(among[:NAMED]))


def plain_joined(*parts: Places) -> Places:
    columns = {(column[AT], column[ROW]): column for part in parts for column in part.T.tolist()}
    return np.array([columns[key] for key in sorted(columns)], np.int64).reshape(-1, len(NO_PLACES)).T


def result_of(seed: int, *, plain: bool = False, page: int = 1) -> tuple[list[msgspec.Struct], list[bytes]]:
    state, rows = ShardState(0), list[msgspec.Struct]()
    with ExitStack() as patches:
        if plain:
            selection: dict[str, Any] = {"within": plain_within, "newest_of_program": plain_newest_of_program}
            patches.enter_context(patch.multiple(supporting, joined=plain_joined, **selection))
            patches.enter_context(patch.multiple(program, **selection))
        patches.enter_context(patch.multiple(read_transfers, KEPT_FROM=1, MOST_READ=9, MOST_PARTIES=3, ROOM=1, PAGES=2))
        for number, entry in enumerate(stream_of(Random(seed), 80), 1):
            state.apply(entry, rows.append, ends_page=number % page == 0)
    return rows, list(state.dump())


@pytest.mark.parametrize("page", [1, 5, 1_000])
@pytest.mark.parametrize("seed", range(8))
def test_given_a_stream_when_supporting_transfers_are_read_one_by_one_then_rows_and_state_are_the_same(
    seed: int, page: int
) -> None:
    rows, state = result_of(seed, page=page)

    assert any(isinstance(row, AlertRow) for row in rows)
    assert (rows, state) == result_of(seed, page=page, plain=True)


def rows_read_alone(story: ShardStory, deliver: Callable[[], object]) -> int:
    """How many rows of tables a delivery that alerts reads by themselves."""
    read = list[int]()

    def counted(method: Callable[..., object]) -> Callable[..., object]:
        def call(table: NarrowTable, row: int, *further: int) -> object:
            read.append(row)
            return method(table, row, *further)

        return call

    alone: dict[str, Any] = {name: counted(getattr(NarrowTable, name)) for name in ("number", "head", "lead")}
    with patch.multiple(NarrowTable, **alone):
        deliver()
    assert story.last(AlertRow)
    return len(read)


@pytest.mark.parametrize("others", [0, 1, 3])
def test_given_a_busy_party_when_its_next_transfer_joins_its_alerts_then_few_rows_are_read_alone(others: int) -> None:
    story = detector_story().introduce("enti_1")
    for place in range(200):
        story.wire("enti_1", "cpty_1", 250_00, place * MINUTE)
        for other in range(others):
            story.wire(f"enti_{other + 2}", "cpty_9", 10_00 + place, place * MINUTE)

    read = rows_read_alone(story, lambda: story.wire("enti_1", "cpty_1", 250_00, 200 * MINUTE))

    assert read < 40
