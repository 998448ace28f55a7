"""The feed over many heartbeats and ends of its answers, and when there is no room for a further reader."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.support.following import Follower
from tests.support.listening import Listener
from tests.support.live_feed import DAY, WIRE, LiveBank, LiveFeed, now
from tests.support.running_service import COMMAND, RunningService
from tests.support.waiting import eventually

SCORED: Final = "transfer.scored"
QUICK: Final = f"""
from clearhold.api.live import routes
from clearhold.flows.live import feed

feed.BEAT_EVERY_S = 0.05
routes.LONGEST_S = routes.LONGEST_SPREAD_S = 1
{COMMAND}
"""
LITTLE_ROOM: Final = f"""
from clearhold.flows.live import feed

feed.CommitFeed.__init__.__kwdefaults__["limits"] = feed.FeedLimits(of_tenant=3, in_all=5)
{COMMAND}
"""


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Its heartbeats follow each other quickly, and its answers end soon."""
    data: Path = tmp_path_factory.mktemp("quick") / "data"
    with RunningService(data, "--scorers", "0", command=QUICK) as service:
        yield service


@pytest.fixture
def bank(quick: RunningService) -> Iterator[LiveBank]:
    with closing(LiveBank(quick)) as opened:
        yield opened


def send_wire(feed: LiveFeed, number: int) -> None:
    data = {"id": f"wire_{number}", "amount": 900_000 + number, "entity_id": "enti_1", "counterparty_id": "cpty_1"}
    feed.send(WIRE, data, now() - DAY + timedelta(minutes=number))
    feed.settle()


def has_beats(follower: Follower, count: int) -> bool:
    return follower.comments >= count


def test_given_many_heartbeats_and_ends_by_age_when_a_reader_comes_back_each_time_then_it_has_every_event_once(
    quick: RunningService, bank: LiveBank
) -> None:
    feed, token = bank.feed(), bank.tenant["operatorToken"]
    with Follower(quick, token) as follower:
        for number in range(6):
            send_wire(feed, number)
            eventually(partial(has_beats, follower, follower.comments + 8))
        eventually(lambda: follower.breaks >= 3)
        eventually(lambda: sum(each.kind == SCORED for each in follower.told) == 6)

    told = follower.told
    numbers = [int(each.data["data"]["transferId"].removeprefix("wire_")) for each in told if each.kind == SCORED]
    assert numbers == [*range(6)]
    assert {each.data["reason"] for each in told if each.kind == "end"} == {"age"}
    assert not [each for each in told if each.kind == "resync"]


def test_given_a_reader_of_other_events_when_heartbeats_come_then_its_last_id_is_behind_all_that_it_did_not_want(
    quick: RunningService, bank: LiveBank
) -> None:
    feed, token = bank.feed(), bank.tenant["operatorToken"]
    with Listener(quick.port, token, "?kind=kri.snapshot") as listener:
        begin = listener.last_id
        send_wire(feed, 1)
        eventually(lambda: listener.last_id != begin)
        beats = listener.parser.comments
        eventually(lambda: listener.parser.comments > beats + 1 or listener.is_done)
        newest = listener.last_id
    send_wire(feed, 2)
    with Listener(quick.port, token, last_id=newest) as again:
        eventually(lambda: again.of(SCORED))

    assert listener.events == []
    assert [each.data["data"]["transferId"] for each in again.of(SCORED)] == ["wire_2"]


def test_given_no_room_when_one_more_listens_then_it_is_a_503_until_a_reader_leaves(tmp_path: Path) -> None:
    with RunningService(tmp_path / "data", "--scorers", "0", command=LITTLE_ROOM) as service, ExitStack() as stack:
        mine, other = (stack.enter_context(closing(LiveBank(service))) for _ in range(2))

        def listens(bank: LiveBank) -> Listener:
            return stack.enter_context(Listener(service.port, bank.tenant["operatorToken"]))

        def asked(bank: LiveBank) -> httpx.Response:
            headers = {"Authorization": f"Bearer {bank.tenant['operatorToken']}", "X-Operator": "ann"}
            with bank.client.stream("GET", "/api/live", headers=headers) as answer:
                if answer.status_code != 200:
                    answer.read()
                return answer

        first, *_ = [listens(mine) for _ in range(3)]
        refused = asked(mine)
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
        assert int(refused.headers["retry-after"]) > 0
        for _ in range(2):
            listens(other)
        assert asked(other).status_code == 503  # room for two more of its own, and for none in all
        first.end()
        eventually(lambda: asked(mine).status_code == 200)
