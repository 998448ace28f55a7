"""What does a challenger in shadow cost a scored transfer?

The vectors are those of ordinary traffic. Each is scored once more, with a card of forty signals, and its row is made.
Times are of the processor; the champion's own points, with its reasons in words, are measured beside it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import Any, Final

import msgspec

from bench.harness import Figure, Promise, Run
from bench.stream_events import Traffic
from clearhold.features.catalogue.vector import FeatureVector, TransferFeaturesRow
from clearhold.features.core.log_entry import EntryKind, EntryPosition, EventResult, LogEntry
from clearhold.features.core.scorecards import Scorecard
from clearhold.features.landing.stored_transfer import LandingResult, emit_shadow_score
from clearhold.features.measurement.assessment import Assessment
from clearhold.features.scorers.cards import compile_card
from clearhold.features.scorers.trs_v1.scorer import DEFAULT, DEFAULT_CARD, SCORER
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState

COST: Final = Promise(25)
SIGNALS: Final = 40
ENTITIES: Final = 2_000
_TURNS: Final = 5


def run(run: Run) -> Iterator[Figure]:
    run.say("scoring ordinary traffic for its vectors")
    vectors = list(islice(_vectors(), run.size(20_000, 4_000)))
    program, rows = ProgramState("prg_1"), list[msgspec.Struct]()
    program.scorecards.challenger = compile_card(_challenger(), version="scorecard-v1")
    position = EntryPosition(0, 1, 0, 0)
    landed = [
        LandingResult(EventResult.APPLIED, "trf_1", None, Assessment(vector, DEFAULT.score(vector), degraded=False))
        for vector in vectors
    ]
    cost_us = _cost_us(lambda each: emit_shadow_score(program, each, position, rows.append), landed)
    champion_us = _cost_us(DEFAULT.score, vectors)
    yield Figure(
        name="a challenger beside the champion",
        value=cost_us,
        unit="µs a scoring",
        promise=COST,
        note=f"the champion takes {champion_us:.1f} µs, reasons in words included",
    )


def _challenger() -> Scorecard:
    hard = [each for each in DEFAULT_CARD.signals if SCORER.signals[each.id].hard]
    others = [each for each in DEFAULT_CARD.signals if not SCORER.signals[each.id].hard]
    signals = (*hard, *others[: SIGNALS - len(hard)])
    return msgspec.structs.replace(DEFAULT_CARD, name="challenger", signals=signals)


def _vectors() -> Iterator[FeatureVector]:
    """Of the scorings of a program whose parties have a past."""
    traffic = Traffic("shadow", entities=ENTITIES, counterparties=2 * ENTITIES, step_us=20_000_000)
    state, offsets, rows = ShardState(0), count(1), list[msgspec.Struct]()
    bodies = (event.body for event in traffic.events())
    for body in traffic.introductions():
        state.apply(LogEntry(0, next(offsets), EntryKind.BANK, "prg_1", 2**60, body), rows.append)
    for body in bodies:
        rows.clear()
        state.apply(LogEntry(0, next(offsets), EntryKind.BANK, "prg_1", 2**60, body), rows.append)
        yield from (row.vector for row in rows if isinstance(row, TransferFeaturesRow))


def _cost_us(work: Callable[[Any], object], items: Sequence[Any]) -> float:
    """The mean of the best of some turns."""
    best = float("inf")
    for _ in range(_TURNS):
        started = time.process_time()
        for item in items:
            work(item)
        best = min(best, time.process_time() - started)
    return best * 1_000_000 / len(items)
