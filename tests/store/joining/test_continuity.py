"""The places of a log join up, or what is missing is named."""

from pathlib import Path

import pytest

from clearhold.store.joining.agreement import AcceptedLosses, Hole, StreamEnds
from clearhold.store.lake.segment_files import Gap


def ends(**places: int) -> StreamEnds:
    return StreamEnds(**({"stream": "shard=03", "segments": 0} | places))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("places", "holes", "is_behind"),
    [
        ({}, [], False),
        ({"tail": 9}, [], False),
        ({"segments": 5, "tail": 9, "trimmed": 5, "committed": 9}, [], False),
        ({"segments": 5, "tail": 5, "trimmed": 3, "committed": 5}, [], False),
        ({"segments": 5, "tail": 9, "trimmed": 7, "committed": 9}, [(5, 7)], False),  # the last segments are gone
        ({"tail": 9, "trimmed": 7, "committed": 9}, [(0, 7)], False),  # all of them are
        ({"segments": 5, "tail": 9, "committed": 0}, [], False),  # another database is being made
        ({"segments": 5, "committed": 9}, [(5, 9)], True),  # Redis is empty
        ({"segments": 9, "committed": 9}, [], True),  # Redis is empty, and the lake has all of it
        ({"segments": 5, "tail": 7, "trimmed": 4, "committed": 9}, [(7, 9)], True),  # Redis is an older copy
        ({"segments": 9, "tail": 7, "trimmed": 4, "committed": 9}, [], True),
    ],
)
def test_given_where_a_stream_ends_in_each_place_then_what_none_of_them_holds_is_a_hole(
    *, places: dict[str, int], holes: list[tuple[int, int]], is_behind: bool
) -> None:
    stream = ends(**places)

    assert [(hole.after, hole.upto) for hole in stream.holes()] == holes
    assert stream.is_behind is is_behind


def test_given_a_gap_between_segments_then_it_is_a_hole_too() -> None:
    stream = StreamEnds(stream="shard=03", segments=20, gaps=[Gap(5, 9)], trimmed=20, tail=30, committed=30)

    assert stream.holes() == [Hole(stream="shard=03", after=5, upto=9)]


def test_given_a_loss_that_was_accepted_then_it_and_no_other_is_asked_about_no_more(tmp_path: Path) -> None:
    accepted = Hole(stream="shard=03", after=5, upto=9)
    AcceptedLosses(tmp_path).accept(accepted)
    within, beyond, elsewhere = (
        Hole(stream="shard=03", after=6, upto=9),
        Hole(stream="shard=03", after=5, upto=10),
        Hole(stream="shard=04", after=5, upto=9),
    )

    losses = AcceptedLosses(tmp_path)

    assert losses.unaccepted([accepted, within, beyond, elsewhere]) == [beyond, elsewhere]
