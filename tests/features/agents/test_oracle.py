"""Random streams of items: the state measures what the oracle recomputes from the items alone."""

from random import Random
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US, format_instant
from tests.features.agents.agent_oracle import ZERO, AgentOracle
from tests.support.clock import T0
from tests.support.scan_items import AgentStory, Item, a_profile, a_settlement, address, an_agent, wallet_of

AGENTS: Final = 6
WALLETS: Final = 8  # more than agents, so that some are nobody's
OWNERS: Final = 3
STEPS: Final = 600
STREAMS: Final = 8


class RandomIndex:
    """What an index might say next; it is about few agents, whose wallets change hands and pay one another."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)
        self._told: list[Item] = []

    def agent(self, at: int) -> Item:
        chance = self._chance
        return an_agent(
            chance.randrange(AGENTS),
            owner=address(0xE000 + chance.randrange(OWNERS)),
            wallet=chance.choice([None, ZERO, *(wallet_of(each) for each in range(WALLETS))]),
            registeredAt=format_instant(T0 - chance.randrange(90) * DAY_US),
            ownerChangedAt=chance.choice([None, None, format_instant(T0 - chance.randrange(60) * DAY_US)]),
            active=chance.choice([True, False, None]),
            updatedAt=format_instant(at),
        )

    def profile(self, at: int) -> Item:
        status = self._chance.choice(["clear", "hit", "review", "not_covered", None])
        wallet = self._payer().upper().replace("0X", "0x")
        return a_profile(wallet, status) | {"screenedAt": None if status is None else format_instant(at)}

    def settlement(self, at: int) -> Item:
        chance = self._chance
        if self._told and chance.random() < 0.2:
            return self._again(chance.choice(self._told))
        agent = chance.choice([None, *range(AGENTS + 1)])
        told = a_settlement(
            len(self._told),
            at - chance.choice([0, HOUR_US, DAY_US, 40 * DAY_US]),
            agent=agent,
            payer=self._payer(),
            payTo=wallet_of(chance.randrange(WALLETS) if agent is None or chance.random() < 0.2 else agent),
            amountAtomic=str(chance.choice([1, 4_999, 5_000, 10_000, 123_456])),
            status=chance.choice(["pending", "confirmed", "confirmed"]),
        )
        self._told.append(told)
        return told

    def _again(self, told: Item) -> Item:
        change: dict[str, Any] = self._chance.choice(
            [{}, {"status": "dropped"}, {"status": "confirmed"}, {"amountAtomic": "7"}, {"payer": address(0xBAD)}]
        )
        return told | change

    def _payer(self) -> str:
        chance = self._chance
        if chance.random() < 0.5:
            return wallet_of(chance.randrange(WALLETS))
        return address(0xE000 + chance.randrange(OWNERS + 4))


def played(seed: int) -> tuple[AgentStory, AgentOracle, int]:
    """One stream through both; its last instant."""
    index, chance, story, oracle, at = RandomIndex(seed), Random(-seed), AgentStory(), AgentOracle(), T0
    for _ in range(STEPS):
        at += chance.choice([1_000_000, HOUR_US, 6 * HOUR_US])
        kind = chance.choices(["agent", "profile", "settlement"], [1, 2, 20])[0]
        item: Item = getattr(index, kind)(at)
        if kind == "agent":
            story.agents(item, at=at)
            oracle.agent(item, at)
        elif kind == "profile":
            story.profiles(item, at=at)
            oracle.profile(item)
        else:
            story.settle(item, at=at)
            oracle.settle(item, at)
    return story, oracle, at


@pytest.mark.parametrize("seed", range(STREAMS))
def test_given_a_random_index_when_imported_then_the_inputs_of_each_agent_are_those_of_the_oracle(seed: int) -> None:
    story, oracle, at = played(seed)

    assert len(oracle.paid) > STEPS / 10
    for number in oracle.agents:
        measured = msgspec.structs.asdict(story.inputs(at, number))
        expected = oracle.inputs(number, at)
        assert {name: measured[name] for name in expected} == expected, number


def test_given_the_streams_when_taken_together_then_each_kind_of_input_comes_up() -> None:
    streams = [played(seed) for seed in range(STREAMS)]
    inputs = [oracle.inputs(number, at) for _, oracle, at in streams for number in oracle.agents]

    for name in ("self_dealing_settlements", "round_trips_30d", "listed_payer_settlements", "recent_settlements"):
        assert {bool(each[name]) for each in inputs} == {True, False} or all(each[name] for each in inputs), name
    assert max(each["recent_settlements"] for each in inputs) > 40
    assert {status for _, oracle, _ in streams for status in oracle.status.values()} >= {"dropped", "confirmed"}
