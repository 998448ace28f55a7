"""Each signal of ars-v1 on items as a scan index sends them, and a score that is rebuilt from a dump."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US, format_instant
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.features.core.vocabulary import LabelValue
from clearhold.features.scorers import ars_v1
from clearhold.features.shard.shard import ShardState
from tests.features.parties.test_clearings import label
from tests.support.clock import T0
from tests.support.daily_payments import reason_ids
from tests.support.scan_items import (
    AgentStory,
    Item,
    a_profile,
    a_settlement,
    address,
    an_agent,
    transfer_of,
    wallet_of,
)

ENOUGH: Final = 12
Play = Callable[[AgentStory], object]


def paid(story: AgentStory, *, first: int = 0, count: int = ENOUGH, every: int = 2 * DAY_US, **over: Any) -> None:
    """Settlements of so many payers, unless one is given, to the agent of the story."""
    for number in range(first, first + count):
        at = T0 + number * every
        story.settle(a_settlement(number, at, **over), at=at)


def told(**over: Any) -> Play:
    """An agent of which this is said, and which is paid."""

    def play(story: AgentStory) -> None:
        story.agents(an_agent(**over))
        paid(story)

    return play


def reputation(**over: Any) -> Item:
    return {"reputation": {"count": 12, "clients": 9, "paidCount": 4, "byTag": [], "revoked": 0} | over}


def starred(mean: str) -> list[Item]:
    return [{"tag": "uptime", "count": 90, "mean": "3"}, {"tag": "starred", "count": 9, "mean": mean}]


def one_payer(story: AgentStory) -> None:
    story.agents(an_agent())
    paid(story, payer=address(7))


def own_agents(story: AgentStory) -> None:
    """Every second payment comes from another agent of the same owner."""
    story.agents(an_agent(), an_agent(23, owner=an_agent()["owner"]))
    for number in range(ENOUGH):
        paid(story, first=number, count=1, payer=wallet_of(23) if number % 2 else address(number + 1))


def own_owner(story: AgentStory) -> None:
    story.agents(an_agent())
    paid(story, payer=an_agent()["owner"])


def round_trips(partners: int, *, known_late: bool = False) -> Play:
    """So many agents pay the agent and are paid by it."""

    def play(story: AgentStory) -> None:
        others = [an_agent(30 + number) for number in range(partners)]
        story.agents(an_agent(wallet=None) if known_late else an_agent(), *others)
        for number in range(partners):
            at = T0 + number
            story.settle(a_settlement(100 + number, at, agent=30 + number, payer=wallet_of(22)), at=at)
        if known_late:
            story.agents(an_agent(updatedAt=format_instant(T0 + HOUR_US)), at=T0 + HOUR_US)
        for number in range(ENOUGH):
            payer = wallet_of(30 + number) if number < partners else address(number)
            paid(story, first=number, count=1, every=DAY_US, payer=payer)

    return play


def screened(status: str, **over: Any) -> Play:
    def play(story: AgentStory) -> None:
        story.agents(an_agent()).profiles(a_profile(wallet_of(22), status, **over))
        paid(story)

    return play


def burst(story: AgentStory) -> None:
    story.agents(an_agent())
    paid(story, count=10, every=DAY_US)
    for number in range(20, 29):
        at = T0 + 10 * DAY_US + number
        story.settle(a_settlement(number, at), at=at)


def listed_payer(story: AgentStory) -> None:
    story.agents(an_agent()).profiles(a_profile(address(0x1005).upper().replace("0X", "0x"), "hit"))
    paid(story)


def payer_listed_later(story: AgentStory) -> None:
    story.agents(an_agent())
    paid(story)
    at = T0 + ENOUGH * 2 * DAY_US
    story.profiles(a_profile(address(0x1005), "hit", screenedAt=format_instant(at)), at=at)


def listed_wallet_of_an_agent(story: AgentStory) -> None:
    """A wallet on a list pays, and its agent takes another wallet, that is clear."""
    story.agents(an_agent(), an_agent(23)).profiles(a_profile(wallet_of(23), "hit"))
    story.settle(a_settlement(99, T0, payer=wallet_of(23)), at=T0)
    at = T0 + HOUR_US
    story.agents(an_agent(23, wallet=wallet_of(24), updatedAt=format_instant(at)), at=at)
    story.profiles(a_profile(wallet_of(24), "clear", screenedAt=format_instant(at)), at=at)
    paid(story, first=1)


PLAYS: Final[dict[str, tuple[str, Play]]] = {
    "one payer": ("ARS-FLO-01", one_payer),
    "agents of the same owner": ("ARS-FLO-02", own_agents),
    "the owner": ("ARS-FLO-02", own_owner),
    "a round trip": ("ARS-FLO-03", round_trips(1)),
    "round trips": ("ARS-FLO-04", round_trips(3)),
    "round trips of a wallet that is known late": ("ARS-FLO-04", round_trips(3, known_late=True)),
    "a burst": ("ARS-VEL-01", burst),
    "a young one": ("ARS-REG-01", told(registeredAt=format_instant(T0 - DAY_US))),
    "sold": ("ARS-REG-02", told(ownerChangedAt=format_instant(T0 - DAY_US))),
    "not active": ("ARS-REG-03", told(active=False)),
    "no wallet": ("ARS-REG-04", told(wallet=address(0))),
    "revoked": ("ARS-REP-01", told(**reputation(revoked=3))),
    "unpaid": ("ARS-REP-02", told(**reputation(paidCount=1))),
    "poorly rated": ("ARS-REP-03", told(**reputation(byTag=starred("49.9")))),
    "well paid": ("ARS-REP-04", told(**reputation(paidCount=11))),
    "failed validation": ("ARS-VAL-01", told(validation={"count": 2, "mean": "31.5", "lastAt": None})),
    "denied": ("ARS-KYC-01", screened("clear", verificationStatus="DENIED")),
    "wallet hit": ("ARS-SCR-01", screened("hit")),
    "wallet review": ("ARS-SCR-02", screened("review")),
    "not covered": ("ARS-SCR-03", screened("not_covered")),
    "listed payer": ("ARS-SCR-04", listed_payer),
    "payer listed later": ("ARS-SCR-04", payer_listed_later),
}


def fired(story: AgentStory) -> list[str]:
    """The reasons of the agent's score as it would be now."""
    inputs = story.inputs(story.entries[-1].appended_at)
    return [reason.id for reason in ars_v1.DEFAULT.score(inputs).reasons]


@pytest.mark.parametrize("name", PLAYS)
def test_given_what_an_index_can_say_when_an_agent_is_scored_then_the_signal_fires(name: str) -> None:
    reason_id, play = PLAYS[name]
    story = AgentStory()
    play(story)

    scores = [row for row in story.all(ScoreRow) if row.subject_id.endswith(":22")]
    assert any(reason_id in reason_ids(row) for row in scores)


def test_given_an_agent_of_which_nothing_bad_is_known_when_scored_then_no_signal_fires() -> None:
    story = AgentStory()
    story.agents(an_agent()).profiles(a_profile(wallet_of(22)))
    paid(story)

    assert fired(story) == []


def test_given_a_listed_payer_when_it_takes_another_wallet_then_what_it_paid_stays_listed() -> None:
    story = AgentStory()
    listed_wallet_of_an_agent(story)

    assert fired(story) == ["ARS-SCR-04"]


def test_given_the_signals_when_counted_then_each_has_a_play_here() -> None:
    assert {reason_id for reason_id, _ in PLAYS.values()} == set(ars_v1.SCORER.signals)


@pytest.mark.parametrize("name", PLAYS)
def test_given_a_state_that_is_dumped_and_loaded_when_it_goes_on_then_it_is_the_same(name: str) -> None:
    story = AgentStory()
    PLAYS[name][1](story)
    loaded = ShardState.loaded(iter([*story.state.dump()]))

    assert [*loaded.dump()] == [*story.state.dump()]
    at = story.entries[-1].appended_at + HOUR_US
    story.settle(a_settlement(999, at, payer=wallet_of(30)), at=at)
    rows: list[Any] = []
    loaded.apply(story.entries[-1], rows.append)
    assert rows == story.last_rows


@pytest.mark.parametrize("name", ["listed payer", "payer listed later"])
def test_given_a_payment_from_a_listed_wallet_when_a_person_labels_it_then_its_points_end_or_come_back(
    name: str,
) -> None:
    reason_id, play = PLAYS[name]
    story = AgentStory()
    play(story)
    at = story.entries[-1].appended_at - T0
    transfer_id = transfer_of(a_settlement(5, T0))

    for number, (word, expected) in enumerate(
        ((LabelValue.OK, False), (LabelValue.BAD, True), (LabelValue.OK, False)), 1
    ):
        label(story, transfer_id, word, at + number)
        assert (reason_id in fired(story)) is expected
        (row,) = [row for row in story.last(ScoreRow) if row.subject_type == "agent"]
        assert (reason_id in reason_ids(row)) is expected
    assert story.inputs(story.entries[-1].appended_at).recent_settlements == ENOUGH - 1
