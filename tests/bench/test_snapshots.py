"""The benchmark of snapshots: which entries count as beside a snapshot, and the figures of a run."""

from pathlib import Path

import pytest

from bench.measured_scorer import Clocks, Measure, Measures, Of, clocks, measures_in
from bench.snapshots import figures_of, split

MS = 1_000_000


def an_entry(ended_at: int, *, took_ms: int = 1, waited_ms: int = 2) -> Measure:
    return Measure(Of.ENTRY, ended_at, took_ms * MS, took_ms * MS, waited_ms * MS)


def a_child(began_at: int, ended_at: int) -> Measure:
    return Measure(Of.CHILD, ended_at, (ended_at - began_at) * 1_000, 5 * MS, 0)


def test_given_entries_before_beside_between_and_after_children_then_they_are_split_by_their_lives() -> None:
    children = [a_child(100, 200), a_child(300, 400)]
    entries = [an_entry(at) for at in (50, 150, 200, 250, 350, 450)]

    beside, without = split([*entries, *children], children)

    assert [each.ended_at for each in beside] == [150, 200, 350]
    assert [each.ended_at for each in without] == [50, 250]


def test_given_measures_when_the_figures_are_made_then_the_longest_stall_and_entry_stand_against_the_promise() -> None:
    measures = [
        an_entry(50, took_ms=4),
        Measure(Of.FORK, 100, 30 * MS, 30 * MS, 0),
        Measure(Of.STALL, 101, 40 * MS, 35 * MS, 0),
        an_entry(150, took_ms=120),
        a_child(100, 200),
    ]

    figures = {each.name: each for each in figures_of(measures, parties=10, written_bytes=7_000_000)}

    assert (figures["longest stall to begin a snapshot"].value, figures["longest stall to begin a snapshot"].kept) == (
        40,
        True,
    )
    longest = figures["an entry beside a snapshot, longest"]
    assert (longest.value, longest.kept, longest.ratio) == (120, False, 30)
    assert figures["a snapshot on disk after"].note.endswith("7 MB written")


def test_given_a_run_without_a_snapshot_then_it_is_no_figure() -> None:
    with pytest.raises(SystemExit, match="No snapshot"):
        list(figures_of([an_entry(1)], parties=1, written_bytes=1))


def test_given_what_was_measured_when_the_file_is_read_then_it_is_the_same(tmp_path: Path) -> None:
    with (tmp_path / "measures").open("ab", buffering=0) as file:
        measures = Measures(file)
        measures.add(Of.ENTRY, Clocks(0, 0), more_ns=7)
        measures.add(Of.STALL, clocks(), processor_ns=9)

    entry, stall = measures_in(tmp_path / "measures")

    assert (entry.of, entry.more_ns, entry.took_ns > 0) == (Of.ENTRY, 7, True)
    assert (stall.of, stall.processor_ns) == (Of.STALL, 9)
