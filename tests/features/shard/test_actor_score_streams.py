"""Score records over random streams: each is another score, and a replay or a restart changes none of them."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.kris import KriName, KriValue
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.features.core.vocabulary import Band, Reason, Score, band_word
from clearhold.features.scorers import ars_v1, crs_v1, ers_v1, prs_v1
from clearhold.features.scorers.crs_v1 import CounterpartyInputs
from clearhold.features.scorers.ers_v1 import EntityInputs, decayed
from clearhold.features.shard.shard import ShardState
from tests.checks.ars_v1_cases import scored_alone
from tests.support.random_streams import streams

SLOW_IS_FINE: Final = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
_OF_VERSION: Final[dict[str, tuple[Any, Callable[[Any], Score]]]] = {
    "ers-v1": (EntityInputs, ers_v1.DEFAULT.score),
    "crs-v1": (CounterpartyInputs, crs_v1.DEFAULT.score),
    "ars-v1": (ars_v1.AgentInputs, scored_alone),
    "prs-v1": (dict[KriName, KriValue], prs_v1.DEFAULT.score),
}


def score_rows(state: ShardState, entries: list[LogEntry]) -> list[bytes]:
    rows: list[msgspec.Struct] = []
    for entry in entries:
        state.apply(entry, rows.append)
    return [msgspec.json.encode(row) for row in rows if isinstance(row, ScoreRow)]


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(entries=streams(most=60, least=10))
def test_given_a_random_stream_then_each_record_is_another_score_and_its_inputs_give_it_again(
    entries: list[LogEntry],
) -> None:
    last: dict[tuple[str, str], ScoreRow] = {}
    ids: set[str] = set()
    for encoded in score_rows(ShardState(0), entries):
        row = msgspec.json.decode(encoded, type=ScoreRow)
        inputs_type, score_of = _OF_VERSION[row.version]
        score = score_of(msgspec.json.decode(row.inputs, type=inputs_type))
        before = last.get((row.subject_type, row.subject_id))

        assert (row.score, row.n, row.confidence, row.hard) == (score.value, score.n, score.confidence, score.hard)
        assert row.band == band_word(score.value)
        assert row.former_band == (before.band if before else Band.UNSCORED)
        assert msgspec.json.decode(row.reasons, type=tuple[Reason, ...]) == score.reasons
        assert (row.score, row.hard) != ((before.score, before.hard) if before else (None, False))
        assert before is None or (before.offset < row.offset and before.scored_at <= row.scored_at)
        assert row.id not in ids
        last[row.subject_type, row.subject_id] = row
        ids.add(row.id)


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(entries=streams(most=50, least=10), part=st.integers(0, 100))
def test_given_a_random_stream_when_it_is_played_again_or_loaded_midway_then_the_records_are_the_same_bytes(
    entries: list[LogEntry], part: int
) -> None:
    at_once = score_rows(ShardState(0), entries)
    split = len(entries) * part // 100
    state = ShardState(0)

    before = score_rows(state, entries[:split])
    loaded = ShardState.loaded(iter(list(state.dump())))

    assert score_rows(ShardState(0), entries) == at_once
    assert before + score_rows(loaded, entries[split:]) == at_once


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(entries=streams(most=60, least=10))
def test_given_a_random_stream_then_an_entitys_strongest_transfer_is_the_one_that_stands(
    entries: list[LogEntry],
) -> None:
    """Found again among the newest versions of all transfers."""
    state, rows = ShardState(0), list[msgspec.Struct]()
    for entry in entries:
        state.apply(entry, rows.append)
    versions = [row for row in rows if isinstance(row, TransferRow)]
    newest = {row.id: row for row in versions}
    program = state.program("prg_1")
    for actor in program.actors:
        joined = {program.actors[account].id for account, heir in program.merged.items() if heir == actor.index}
        if actor.is_account:
            continue
        own = [row for row in newest.values() if (row.entity_id or row.account_id) in {actor.id, *joined}]
        best, its_day, *_ = program.scores.transfers.best(actor.index)
        standing = [(row.score or 0, row.bank_created_at // DAY_US) for row in own]
        today = max([its_day, *(day for _, day in standing)])
        assert decayed(best, today - its_day) == max(
            (decayed(score, today - day) for score, day in standing), default=0
        )
