"""Positions of a log, of the log that it was restored from, and of others."""

from typing import Final

import pytest

from clearhold.flows.live.log_history import LogHistory, log_mark
from clearhold.flows.live.positions import ALL_READ, Position, ShardPlace
from clearhold.store.data_dir import LogAncestor

HISTORY: Final = LogHistory(
    "third", [LogAncestor(log_id="first", until=(10, 0)), LogAncestor(log_id="second", until=(20, 30))]
)


def position(log_id: str, *offsets: int) -> Position:
    places = {shard: ShardPlace(offset, ALL_READ) for shard, offset in enumerate(offsets)}
    return Position.read_id(Position(places, log_mark(log_id)).id_after("7-7"), 2)


@pytest.mark.parametrize(
    ("log_id", "offsets", "is_here"),
    [
        ("third", (90, 90), True),
        ("second", (20, 30), True),
        ("second", (21, 30), False),
        ("second", (20, 31), False),
        ("first", (10, 0), True),
        ("first", (10, 1), False),
        ("first", (15, 0), False),
        ("other", (1, 1), False),
    ],
)
def test_given_a_position_then_it_is_of_the_history_exactly_up_to_each_backup(
    log_id: str, offsets: tuple[int, ...], *, is_here: bool
) -> None:
    assert HISTORY.has(position(log_id, *offsets)) is is_here


def test_given_a_position_of_no_log_then_it_is_not_of_the_history() -> None:
    assert not HISTORY.has(Position({0: ShardPlace(1, ALL_READ)}))


def test_given_a_position_of_a_log_when_copied_and_moved_then_its_ids_name_the_log() -> None:
    copied = position("second", 1, 1).copy()
    copied.move(1, ShardPlace(9, 2))

    assert copied.id_after().endswith("." + log_mark("second"))
    assert Position.read_id(copied.id_after(), 2).log == log_mark("second")
