"""The newest events of a tenant: what a position has not read, whatever the order of shards, within bounds."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.live.payloads import LiveKind
from clearhold.features.live.reading import Wanted
from clearhold.flows.live.feed_events import FeedEvent, blocks
from clearhold.flows.live.positions import ALL_READ, Position, ShardPlace
from clearhold.flows.live.ring import Ring
from tests.support.listening import Parser

SHARDS = 3


def an_event(shard: int, offset: int, **over: Any) -> FeedEvent:
    usual: dict[str, Any] = {"program_id": "prg_1", "kind": LiveKind.ALERT_OPENED, "band": None, "severity": None}
    lines = b'event: alert.opened\ndata: "%d"\n' % offset
    return FeedEvent(shard=shard, place=ShardPlace(offset, 1), entry=f"{offset}-0", lines=lines, **usual | over)


def a_ring(events: list[FeedEvent], *, most_events: int = 1_000, most_bytes: int = 1 << 20) -> Ring:
    """One commit for each event."""
    ring = Ring(Position({shard: ShardPlace(0, ALL_READ) for shard in range(SHARDS)}))
    for event in events:
        end = ring.end.copy()
        end.move(event.shard, event.place)
        ring.add([event], end, most_events=most_events, most_bytes=most_bytes)
    return ring


@given(shards=st.lists(st.integers(0, SHARDS - 1), max_size=30), seed=st.integers(0, 99), kept=st.integers(1, 30))
def test_given_commits_in_any_order_when_a_reader_is_cut_off_anywhere_then_it_gets_each_event_once(
    shards: list[int], seed: int, kept: int
) -> None:
    """The position is one that another run of the process gave, which committed the shards in another order."""
    events = [an_event(shard, offset) for offset, shard in enumerate(shards, 1)]
    ring = a_ring(events, most_events=kept)
    by_shard = [[each for each in events if each.shard == shard] for shard in range(SHARDS)]
    order, position, had = random.Random(seed), Position(ring.begin.places), set[int]()
    for _ in range(order.randrange(len(events) + 1)):
        own = order.choice(by_shard)
        if own:
            had.add(own[0].place.offset)
            position.advance(Position({own[0].shard: own.pop(0).place}))

    unread = ring.after(position)

    assert unread is not None
    assert unread == [each for each in ring.events if not position.has_read(each.shard, each.place)]
    assert {each.place.offset for each in unread}.isdisjoint(had)


def test_given_more_events_than_are_kept_when_a_position_is_older_then_it_is_not_answered_from_here() -> None:
    events = [an_event(shard % SHARDS, shard) for shard in range(1, 30)]
    few, small = a_ring(events, most_events=4), a_ring(events, most_bytes=4 * len(events[0].lines) + 9)

    for ring in (few, small):
        assert len(ring.events) == 4
        assert ring.bytes == sum(len(each.lines) for each in ring.events)
        assert ring.after(Position({})) is None
        assert ring.after(Position({shard: ShardPlace(20, ALL_READ) for shard in range(SHARDS)})) is None
        assert ring.after(ring.begin) == [*ring.events]
        assert ring.after(ring.end) == []


@given(shards=st.lists(st.integers(0, SHARDS - 1), min_size=1, max_size=20), cut=st.integers(0, 20))
def test_given_the_bytes_of_events_when_read_up_to_any_of_them_then_its_id_leads_to_exactly_the_rest(
    shards: list[int], cut: int
) -> None:
    events = [an_event(shard, offset) for offset, shard in enumerate(shards, 1)]
    ring = a_ring(events)
    parser = Parser()
    sent = [*parser.read(blocks(events, Position(ring.begin.places)))]
    last = sent[min(cut, len(sent) - 1)]

    rest = ring.after(Position.read_id(last.id, SHARDS))

    assert [int(each.data) for each in sent] == [each.place.offset for each in events]
    assert rest == events[sent.index(last) + 1 :]


def test_given_a_wish_when_compared_with_events_then_one_without_a_band_is_in_none() -> None:
    plain, held = an_event(0, 1), an_event(0, 2, band="hold", severity="high", program_id="prg_2")

    assert Wanted().takes(plain)
    assert not Wanted(bands=frozenset({"hold"})).takes(plain)
    assert Wanted(bands=frozenset({"hold"}), severities=frozenset({"high", "low"})).takes(held)
    assert not Wanted(severities=frozenset({"low"})).takes(held)
    assert not Wanted(programs=frozenset({"prg_1"})).takes(held)
    assert not Wanted(kinds=frozenset({LiveKind.ACTION_CHANGED})).takes(held)
