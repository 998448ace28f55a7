"""A backfill's steps applied to a program: what they change, what they leave, and what coming twice does."""

from typing import Any

import msgspec
import pytest

from clearhold.features.catalogue.vector import FEATURE_VERSION, FeatureVector, TransferFeaturesRow
from clearhold.features.core.entries.commands import (
    ActorRange,
    BackfillStep,
    Progress,
    Rescored,
    Stage,
    Subjects,
)
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.alerts import BackfillRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.features.core.vocabulary import Reason, Score
from clearhold.features.measurement.assessment import rescored, vector_of
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.score_memory import NO_TRANSFER
from tests.support.bank_events import an_account, an_ach_transfer, changed
from tests.support.builders import a_vector
from tests.support.clock import T0
from tests.support.scorecards import a_card, card_in_force
from tests.support.stories import ShardStory

TRANSFER = "acht_1"
REASON = Reason(id="TRS-X-01", signal="x", weight=77, hard=True, sentence="X.")
SCORE = Score(version="trs-v9", value=77, n=12, confidence=0.375, reasons=(REASON,))


def a_step(*results: Rescored, **over: Any) -> BackfillStep:
    usual: dict[str, Any] = {
        "id": "backfill_1",
        "subjects": Subjects.TRANSFERS,
        "stage": Stage.RUNNING,
        "feature_version": FEATURE_VERSION,
        "score_version": "trs-v9",
        "total": 1,
        "done": 1,
    }
    return BackfillStep(progress=Progress(**usual | over), rescored=results)


def a_result(transfer_id: str = TRANSFER, **over: Any) -> Rescored:
    usual: dict[str, Any] = {
        "taken_at": T0,
        "degraded": True,
        "score": SCORE,
        "paths": None,
        "vector": msgspec.structs.astuple(a_vector()),
    }
    return Rescored(transfer_id, **usual | over)


def apply_step(story: ShardStory, step: BackfillStep) -> ShardStory:
    return story.append(EntryKind.BACKFILL, msgspec.json.encode(step), at=T0 + 5)


@pytest.fixture
def story() -> ShardStory:
    return ShardStory().deliver("ach.outgoing_transfer.initiated", an_ach_transfer(id=TRANSFER))


def test_given_a_result_when_applied_then_there_are_new_versions_of_transfer_and_inputs(story: ShardStory) -> None:
    before = story.one(TransferRow)

    apply_step(story, a_step(a_result(paths='{"x":1}'), started_offset=story.entries[-1].offset))

    row, made_from = story.one(TransferRow), story.one(TransferFeaturesRow)
    offset = story.entries[-1].offset
    assert (row.score, row.score_band, row.score_version, row.score_n, row.score_confidence) == (
        77,
        "hold",
        "trs-v9",
        12,
        0.375,
    )
    assert (row.scored_offset, row.scored_at, row.raw_offset) == (offset, T0 + 5, before.raw_offset)
    assert (made_from.offset, made_from.score, made_from.band, made_from.hard, made_from.degraded) == (
        offset,
        77,
        "hold",
        True,
        True,
    )
    assert made_from.rescored
    assert made_from.vector == a_vector()
    assert (made_from.feature_version, made_from.taken_at, made_from.paths) == (FEATURE_VERSION, T0, '{"x":1}')
    assert msgspec.json.decode(made_from.reasons, type=tuple[Reason, ...]) == (REASON,)


def test_given_a_step_that_comes_twice_then_the_second_changes_no_transfer(story: ShardStory) -> None:
    step = a_step(a_result(), started_offset=story.entries[-1].offset)

    apply_step(story, step)
    apply_step(story, step)

    assert [type(row) for row in story.last_rows] == [BackfillRow]


def test_given_a_transfer_scored_by_the_stream_behind_the_start_then_it_keeps_that_score(story: ShardStory) -> None:
    apply_step(story, a_step(stage=Stage.STARTED, done=0))
    started_offset = story.one(BackfillRow).started_offset
    later = changed(an_ach_transfer(id=TRANSFER), "2026-03-05T00:00:00Z", amount=777_00)
    story.deliver("ach.outgoing_transfer.updated", later)
    assert story.scoring.offset > started_offset

    apply_step(story, a_step(a_result(), started_offset=started_offset))

    assert story.last(TransferRow) == []
    assert story.one(BackfillRow).started_offset == started_offset


def test_given_a_status_behind_the_start_that_scores_nothing_then_the_result_is_taken_and_the_status_kept(
    story: ShardStory,
) -> None:
    apply_step(story, a_step(stage=Stage.STARTED, done=0))
    started_offset = story.one(BackfillRow).started_offset
    story.deliver(
        "ach.outgoing_transfer.settled",
        changed(an_ach_transfer(id=TRANSFER), "2026-03-05T00:00:00Z", status="SETTLED"),
    )
    assert story.last(TransferFeaturesRow) == []

    apply_step(story, a_step(a_result(), started_offset=started_offset))

    row = story.one(TransferRow)
    assert (row.score, row.status) == (77, "SETTLED")


def test_given_a_start_then_its_row_holds_its_own_offset(story: ShardStory) -> None:
    apply_step(story, a_step(stage=Stage.STARTED, total=5, done=0))

    row = story.one(BackfillRow)
    assert (row.stage, row.started_offset, row.total) == ("started", story.entries[-1].offset, 5)


def test_given_a_result_for_a_transfer_nobody_knows_then_nothing_comes_of_it(story: ShardStory) -> None:
    apply_step(story, a_step(a_result("acht_unknown"), started_offset=1))

    assert [type(row) for row in story.last_rows] == [BackfillRow]


def test_given_a_result_when_the_state_is_restored_then_the_next_version_still_has_it(story: ShardStory) -> None:
    apply_step(story, a_step(a_result(), started_offset=story.entries[-1].offset))

    story.state = ShardState.loaded(iter(list(story.state.dump())))
    story.deliver(
        "ach.outgoing_transfer.settled",
        changed(an_ach_transfer(id=TRANSFER), "2026-03-05T00:00:00Z", status="SETTLED"),
    )

    assert (story.one(TransferRow).score, story.one(TransferRow).score_n) == (77, 12)


def test_given_what_the_stream_has_stored_when_scored_again_then_it_is_the_same(story: ShardStory) -> None:
    stored = story.scoring

    assert rescored(stored, trs_v1.DEFAULT) is None
    for over in ({"score": 99}, {"n": 99}, {"confidence": 0.99}, {"score_version": "trs-v0"}, {"reasons": "[1]"}):
        other: Any = over
        result = rescored(msgspec.structs.replace(stored, **other), trs_v1.DEFAULT)
        assert result is not None
        assert result.score.value == stored.score
        assert vector_of(result.vector) == stored.vector


def test_given_values_of_an_older_or_newer_vector_then_it_is_filled_up_or_cut() -> None:
    values = msgspec.structs.astuple(a_vector())

    shorter, longer = vector_of(values[:40]), vector_of((*values, "more", 7))

    assert msgspec.structs.astuple(shorter)[:40] == values[:40]
    assert not any(msgspec.structs.astuple(shorter)[40:])
    assert longer == a_vector()
    nullable = {field.name for field in msgspec.structs.fields(FeatureVector) if "None" in str(field.type)}
    assert {name for name in FeatureVector.__struct_fields__[40:] if getattr(shorter, name) is None} == {
        name for name in FeatureVector.__struct_fields__[40:] if name in nullable
    }


def test_given_a_vector_with_whole_and_broken_numbers_when_it_goes_through_the_log_then_it_is_the_same() -> None:
    vector = a_vector(program_unauthorized_return_rate_60d=1.0, counterparty_country=None, entity_is_high_risk=None)
    step = a_step(a_result(vector=msgspec.structs.astuple(vector)))

    read = msgspec.json.decode(msgspec.json.encode(step), type=BackfillStep)

    assert vector_of(read.rescored[0].vector) == vector
    assert repr(vector_of(read.rescored[0].vector)) == repr(vector)


def stored_as(transfer_id: str, points: int) -> Rescored:
    return a_result(transfer_id, score=msgspec.structs.replace(SCORE, value=points))


def test_given_strongest_transfers_that_are_scored_lower_then_a_fifth_is_the_strongest() -> None:
    story = ShardStory()
    for number in range(6):
        story.deliver("ach.outgoing_transfer.initiated", an_ach_transfer(id=f"acht_{number}", entity_id="enti_1"))
    strongest, (actor,) = story.program.scores.transfers, [each for each in story.program.actors if not each.is_account]
    first = story.entries[-1].offset
    apply_step(story, a_step(*(stored_as(f"acht_{n}", 90 - 10 * n) for n in range(6)), started_offset=first))
    second = story.entries[-1].offset
    apply_step(story, a_step(*(stored_as(f"acht_{n}", 1 + n) for n in range(4)), started_offset=second))
    third = story.entries[-1].offset
    evaluate = ActorRange(actors=(0, len(story.program.actors)), counterparties=(0, 1))

    for _ in range(2):  # a step that comes twice says the same
        apply_step(story, BackfillStep(progress=a_step(started_offset=third).progress, evaluate=evaluate))

        assert strongest.best(actor.index)[0] == 50
        assert [(row.subject_type, row.subject_id) for row in story.last(ScoreRow)] == [
            ("entity", "enti_1"),
            ("counterparty", story.program.counterparties.all[0].id),
        ]


def test_given_a_transfer_scored_behind_the_start_when_its_entity_is_evaluated_then_memory_keeps_it() -> None:
    story = ShardStory()
    story.deliver("ach.outgoing_transfer.initiated", an_ach_transfer(id=TRANSFER, entity_id="enti_1"))
    apply_step(story, a_step(stored_as(TRANSFER, 60), started_offset=story.entries[-1].offset))
    (actor,) = [each for each in story.program.actors if not each.is_account]
    evaluate = ActorRange(actors=(0, len(story.program.actors)), transfers=(TRANSFER,))
    earlier = story.entries[-1].offset - 1

    apply_step(story, BackfillStep(progress=a_step(started_offset=earlier).progress, evaluate=evaluate))

    assert story.program.scores.transfers.best(actor.index)[0] == 60


def test_given_an_owner_told_since_the_step_was_prepared_when_it_is_applied_then_its_scores_stay() -> None:
    story = ShardStory()
    story.introduce("enti_1")
    story.deliver("ach.outgoing_transfer.submitted", an_ach_transfer(id=TRANSFER))
    apply_step(story, a_step(stored_as(TRANSFER, 60), started_offset=story.entries[-1].offset))
    started = story.entries[-1].offset
    prepared = ActorRange(actors=(0, len(story.program.actors)))  # nothing is stored of the entity yet
    story.deliver("account.frozen", an_account(owners=["enti_1"]))
    (owner,) = [each for each in story.program.actors if not each.is_account]
    strongest = story.program.scores.transfers
    assert strongest.best(owner.index)[0] == 60

    apply_step(story, BackfillStep(progress=a_step(started_offset=started).progress, evaluate=prepared))

    assert strongest.best(owner.index)[0] == 60
    assert not [row for row in story.last(ScoreRow) if row.subject_id == "bacc_1"]


def test_given_a_step_prepared_behind_the_owners_word_when_it_is_applied_then_no_transfer_counts_twice() -> None:
    story = ShardStory()
    story.introduce("enti_1")
    story.deliver("ach.outgoing_transfer.submitted", an_ach_transfer(id=TRANSFER))
    apply_step(story, a_step(stored_as(TRANSFER, 60), started_offset=story.entries[-1].offset))
    story.deliver("account.frozen", an_account(owners=["enti_1"]))
    (owner,) = [each for each in story.program.actors if not each.is_account]
    prepared = ActorRange(actors=(0, len(story.program.actors)), transfers=(TRANSFER,))

    for _ in range(2):
        progress = a_step(started_offset=story.entries[-1].offset).progress
        apply_step(story, BackfillStep(progress=progress, evaluate=prepared))

    strongest = story.program.scores.transfers
    assert strongest.best(owner.index)[0] == 60
    strongest.drop(owner.index, 0)
    assert strongest.best(owner.index) == NO_TRANSFER


def test_given_actors_when_evaluated_then_at_the_instant_of_the_step() -> None:
    story = ShardStory()
    story.deliver("ach.outgoing_transfer.initiated", an_ach_transfer(id=TRANSFER, entity_id="enti_1"))
    evaluate = ActorRange(actors=(0, len(story.program.actors)))

    apply_step(story, BackfillStep(progress=a_step(started_offset=1).progress, evaluate=evaluate))

    assert story.one(ScoreRow).scored_at == story.entries[-1].appended_at > story.entries[-2].appended_at


def test_given_a_score_of_a_card_that_was_replaced_when_its_step_is_applied_then_nothing_changes(
    story: ShardStory,
) -> None:
    of_card = msgspec.structs.replace(SCORE, version="trs-v1+scorecard-v1")
    apply_step(story, a_step(a_result(score=of_card)))
    assert not story.last(TransferRow)

    card_in_force(story, a_card(), 1)
    apply_step(story, a_step(a_result()))
    assert not story.last(TransferRow)
    apply_step(story, a_step(a_result(score=of_card)))

    assert story.one(TransferRow).score_version == "trs-v1+scorecard-v1"
