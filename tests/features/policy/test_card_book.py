"""Scorecards that change in the middle of a story: what scores, what runs beside it, and what a replay makes of it."""

from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.entries.preflight import ProposedCounterparty, ProposedTransfer
from clearhold.features.core.instants import HOUR_US
from clearhold.features.core.rows.alerts import PolicyRow
from clearhold.features.core.rows.events import QuarantineRow, TransferRow
from clearhold.features.core.rows.parties import ShadowScoreRow
from clearhold.features.core.scorecards import Scorecard
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.limits.proposed import assess_proposed
from clearhold.features.policy.bodies import ActiveVersion, ChallengerBody, ScorecardBody
from clearhold.features.policy.card_book import CardBook
from clearhold.features.scorers.trs_v1.scorer import DEFAULT, DEFAULT_CARD
from clearhold.features.shard.shard import ShardState
from tests.support.bank_events import an_ach_transfer, changed, rfc3339
from tests.support.clock import T0
from tests.support.policies import in_force_at
from tests.support.programs import NOON, warmed_program
from tests.support.scorecards import LARGE_FIRST, a_card, card_in_force, card_in_shadow
from tests.support.stories import ShardStory

LARGE: Final = 9_500_00


@pytest.fixture
def story() -> ShardStory:
    return warmed_program()


def scored(story: ShardStory, party: str, at: int) -> tuple[str, int | None]:
    """The version and the points of a large wire to a new counterparty."""
    story.wire("enti_1", party, LARGE, at)
    return story.scoring.score_version, story.scoring.score


def default_points(story: ShardStory) -> int:
    """What the default card makes of the last wire; another number than the cards of these tests."""
    value = DEFAULT.score(story.scoring.vector).value
    assert value is not None
    assert value not in {25, 30}
    return value


def points(row: TransferFeaturesRow) -> int:
    return sum(reason["weight"] for reason in msgspec.json.decode(row.reasons))


def test_given_a_card_when_in_force_then_it_scores_from_its_entry_on_and_its_weights_add_up(story: ShardStory) -> None:
    before, usual = scored(story, "cpty_8", NOON), default_points(story)
    card_in_force(story, a_card(points=30), NOON + HOUR_US)
    after = scored(story, "cpty_9", NOON + 50 * HOUR_US)

    assert before == ("trs-v1", usual)
    assert after == ("trs-v1+scorecard-v1", 30)
    assert points(story.scoring) == 30
    (row,) = (row for row in story.all(PolicyRow) if row.version == "scorecard-v1")
    assert msgspec.json.decode(row.body)["card"]["name"] == f"{LARGE_FIRST} gives 30"


def test_given_a_card_when_in_force_then_a_late_event_is_scored_with_it_whatever_its_own_time(
    story: ShardStory,
) -> None:
    card_in_force(story, a_card(points=30), NOON + 50 * HOUR_US)

    assert scored(story, "cpty_9", NOON + 49 * HOUR_US)[0] == "trs-v1+scorecard-v1"


def test_given_a_card_when_in_force_then_a_preflight_is_what_its_landing_is(story: ShardStory) -> None:
    card_in_force(story, a_card(points=30), NOON)
    at = T0 + NOON + HOUR_US
    proposed = ProposedTransfer(
        rail=Rail.WIRE,
        direction=Direction.OUTGOING,
        amount_cents=str(LARGE),
        entity_id="enti_1",
        counterparty=ProposedCounterparty(name="Someone New", routing_number="021000021", account_last4="6789"),
    )

    asked = assess_proposed(story.program, proposed, at=at).score
    landed = scored(story, "cpty_9", NOON + HOUR_US)

    assert (asked.version, asked.value) == landed == ("trs-v1+scorecard-v1", 30)


def test_given_a_card_that_is_replaced_then_a_transfer_that_keeps_its_score_keeps_its_version(
    story: ShardStory,
) -> None:
    card_in_force(story, a_card(points=30), NOON)
    created = an_ach_transfer(id="acht_1", entity_id="enti_1", created_at=rfc3339(T0 + NOON), status="PENDING")
    story.deliver("ach.outgoing_transfer.initiated", created, at=T0 + NOON + 1)
    card_in_force(story, None, NOON + 2, version="scorecard-v2")
    settled = changed(created, rfc3339(T0 + NOON + HOUR_US), status="SETTLED")
    story.deliver("ach.outgoing_transfer.settled", settled, at=T0 + NOON + HOUR_US)

    assert not story.last(TransferFeaturesRow)
    row = story.one(TransferRow)
    assert (row.status, row.score_version) == ("SETTLED", "trs-v1+scorecard-v1")


def test_given_the_default_card_again_then_scores_have_its_name(story: ShardStory) -> None:
    card_in_force(story, a_card(points=30), NOON)
    card_in_force(story, None, NOON + HOUR_US, version="scorecard-v2")

    assert scored(story, "cpty_9", NOON + 2 * HOUR_US) == ("trs-v1", default_points(story))


def test_given_a_card_of_the_program_alone_then_it_stands_above_one_of_the_tenant(story: ShardStory) -> None:
    card_in_force(story, a_card(points=30), NOON, of_program=True)
    card_in_force(story, a_card(points=25), NOON + 1, version="scorecard-v2")

    assert scored(story, "cpty_9", NOON + HOUR_US) == ("trs-v1+scorecard-v1", 30)


def test_given_a_program_that_follows_the_tenant_again_then_whatever_the_tenant_has_scores(story: ShardStory) -> None:
    card_in_force(story, a_card(points=30), NOON, of_program=True)
    card_in_force(story, a_card(points=25), NOON + 1, version="scorecard-v2")
    in_force_at(story, "scorecard-v3", ScorecardBody(card=None, follows_tenant=True), NOON + 2, of_program=True)

    assert scored(story, "cpty_9", NOON + HOUR_US) == ("trs-v1+scorecard-v2", 25)
    card_in_force(story, None, NOON + 2 * HOUR_US, version="scorecard-v4")
    assert scored(story, "cpty_10", NOON + 3 * HOUR_US) == ("trs-v1", default_points(story))


def test_given_a_shadow_that_ends_then_no_further_transfer_has_a_row_of_it(story: ShardStory) -> None:
    card_in_shadow(story, a_card(points=30), NOON)
    scored(story, "cpty_9", NOON + HOUR_US)
    in_force_at(story, "challenger-v2", ChallengerBody(version=None, card=None), NOON + 2 * HOUR_US)
    scored(story, "cpty_10", NOON + 3 * HOUR_US)

    assert len(story.all(ShadowScoreRow)) == 1
    state = ShardState.loaded(iter(list(story.state.dump())))
    assert list(state.dump()) == list(story.state.dump())


def test_given_a_challenger_then_each_scoring_has_a_row_of_both_and_the_score_is_the_champions(
    story: ShardStory,
) -> None:
    card_in_shadow(story, a_card(points=30), NOON)
    landed = scored(story, "cpty_9", NOON + HOUR_US)

    row = story.one(ShadowScoreRow)
    assert landed == ("trs-v1", default_points(story))
    assert (row.version, row.score, row.band) == ("trs-v1+scorecard-v1", 30, "review")
    assert (row.champion_version, row.champion_score, row.champion_band) == (*landed, story.scoring.band)
    assert (row.transfer_id, row.offset) == (story.scoring.transfer_id, story.scoring.offset)
    assert not [row for row in story.all(PolicyRow) if row.version.startswith("challenger")]


def test_given_a_challenger_that_comes_into_force_then_it_runs_in_shadow_no_more(story: ShardStory) -> None:
    card_in_shadow(story, a_card(points=30), NOON)
    card_in_force(story, a_card(points=30), NOON + 1)
    scored(story, "cpty_9", NOON + HOUR_US)

    assert not story.all(ShadowScoreRow)


@pytest.mark.parametrize(
    "card",
    [
        replace(DEFAULT_CARD, name="hollow", signals=DEFAULT_CARD.signals[:1]),
        replace(DEFAULT_CARD, scorer="xrs", name="foreign"),
    ],
    ids=lambda card: card.name,
)
def test_given_a_card_with_a_fault_then_it_is_set_aside_whole_and_the_one_before_scores(
    story: ShardStory, card: Scorecard
) -> None:
    card_in_force(story, a_card(points=30), NOON)
    card_in_force(story, card, NOON + 1, version="scorecard-v2")

    assert card.name in story.one(QuarantineRow).error
    assert scored(story, "cpty_9", NOON + HOUR_US)[0] == "trs-v1+scorecard-v1"


def of_the_log(card: Scorecard, version: str = "scorecard-v1") -> ActiveVersion:
    """A version as an entry brings it: decoded anew."""
    body = msgspec.json.decode(msgspec.json.encode(ScorecardBody(card=card)), type=ScorecardBody)
    return ActiveVersion(version=version, body=body, since=0, action_id=f"act-{version}", of_program=False)


def test_given_programs_with_the_same_card_then_it_is_held_once() -> None:
    books = [CardBook() for _ in range(3)]
    for book in books[:2]:
        book.activate(of_the_log(a_card(points=30)), 1)
    books[2].load(msgspec.msgpack.decode(msgspec.msgpack.encode(books[0].dump())))

    assert {id(card) for _, card in (book.in_force() for book in books)} == {id(books[0].champion.card)}
    assert len({id(book.champion) for book in books}) == 1


def test_given_a_snapshot_with_a_card_that_this_build_cannot_score_with_then_it_is_not_read() -> None:
    hollow = replace(DEFAULT_CARD, name="hollow", signals=DEFAULT_CARD.signals[:1])

    with pytest.raises(ValueError, match="card hollow, signals"):
        CardBook().load(([msgspec.to_builtins(of_the_log(hollow))], []))


def test_given_cards_that_change_when_the_log_is_replayed_over_dumps_then_rows_and_state_are_the_same() -> None:
    story = ShardStory().introduce("enti_1")
    for place in range(8):
        story.wire("enti_1", "cpty_1", 100_00 + place, place * HOUR_US)
    card_in_shadow(story, a_card(points=30), 9 * HOUR_US)
    story.wire("enti_1", "cpty_2", LARGE, 10 * HOUR_US)
    card_in_force(story, a_card(points=30), 11 * HOUR_US)
    story.wire("enti_1", "cpty_3", LARGE, 12 * HOUR_US)
    card_in_force(story, None, 13 * HOUR_US, version="scorecard-v2")
    story.wire("enti_1", "cpty_4", LARGE, 14 * HOUR_US)
    state, rows = ShardState(0), list[msgspec.Struct]()

    for entry in story.entries:
        state.apply(entry, rows.append)
        state = ShardState.loaded(iter(list(state.dump())))

    assert rows == story.rows
    assert list(state.dump()) == list(story.state.dump())
    assert [row.score_version for row in story.all(TransferFeaturesRow)][-3:] == [
        "trs-v1",
        "trs-v1+scorecard-v1",
        "trs-v1",
    ]
