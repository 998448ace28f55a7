"""Positions in every shard, as the ids of events."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.flows.live.positions import ALL_READ, LAST_OFFSET, Position, ShardPlace

SHARDS = 16

_LIKE_AN_ID = r"[0-9]{1,4}-[0-9]{1,4}\.[A-Za-z0-9_-]{0,40}(\.[A-Za-z0-9_-]{8})?"
places = st.builds(ShardPlace, st.integers(1, LAST_OFFSET), st.integers(1, 400) | st.just(ALL_READ))
positions = st.dictionaries(st.integers(0, SHARDS - 1), places, min_size=1)


@given(stands=positions, moves=st.lists(st.tuples(st.integers(0, SHARDS - 1), places), max_size=8))
def test_given_a_position_when_moved_and_written_as_an_id_then_it_is_read_back(
    stands: dict[int, ShardPlace], moves: list[tuple[int, ShardPlace]]
) -> None:
    position = Position(stands)
    for shard, place in moves:
        position.move(shard, place)

    read = Position.read_id(position.id_after("1772463845123-44040192"), SHARDS)

    assert read.places == stands | dict(moves) == position.places
    assert read.id_after() == position.id_after()


@given(one=positions, other=positions)
def test_given_two_positions_when_one_advances_by_the_other_then_it_has_read_what_either_had(
    one: dict[int, ShardPlace], other: dict[int, ShardPlace]
) -> None:
    advanced = Position(one)
    advanced.advance(Position(other))

    for shard in range(SHARDS):
        assert advanced.of(shard) == max(Position(one).of(shard), Position(other).of(shard))


@given(text=st.text(max_size=60) | st.from_regex(_LIKE_AN_ID, fullmatch=True))
def test_given_any_text_when_read_then_it_is_a_position_or_a_value_error(text: str) -> None:
    try:
        position = Position.read_id(text, SHARDS)
    except ValueError:
        return
    again = Position.read_id(position.id_after(), SHARDS)
    assert (again.places, again.log) == (position.places, position.log)


def coded(*numbers: int) -> str:
    return "0-0." + base64.urlsafe_b64encode(bytes(numbers)).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "-1-0.AAAA",
        "1772463845123-0",
        "0-0.",
        "0-0.!!!!",
        "0-0." + "A" * 40_000,
        "9" * 400 + "-0.AAAAAA",
        coded(1, 5, 5, 0)[:-1],
        coded(SHARDS, 5, 5, 0),
        coded(2, 5, 5, 0, 1, 5, 5, 0),  # shards out of order
        coded(1, 5, 5, 0, 1, 5, 5, 0),
        coded(1, 5),
        coded(1, *[0xFF] * 12, 1, 0, 0),  # a number without an end in sight
        coded(1, *[0xFF] * 8, 0x7F, 0, 0),  # milliseconds that no log has
        coded(1, 5, 0xFF, 0xFF, 0xFF, 0x7F, 0),  # a sequence that no log has
        coded(0xFF),
        "0-0.AAAAA\n",
        coded(1, 5, 5, 0) + ".short",
        coded(1, 5, 5, 0) + ".longer-than-a-mark",
        coded(1, 5, 5, 0) + ".AAAAAAAA.AAAAAAAA",
    ],
)
def test_given_what_no_event_has_when_read_then_it_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Position.read_id(text, SHARDS)


def test_given_a_copy_when_moved_then_the_original_stays() -> None:
    position = Position({1: ShardPlace(5, 1)})
    copied = position.copy()
    copied.move(1, ShardPlace(9, 1))
    copied.move(0, ShardPlace(2, 1))

    assert position.places == {1: ShardPlace(5, 1)}
    assert copied.places == {0: ShardPlace(2, 1), 1: ShardPlace(9, 1)}
