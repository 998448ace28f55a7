"""The labels of a world beside the service's answers: the bad rows, their half, and their scores.

Halves   scenarios, bad ones and innocent look-alikes, go to a half by the order of their ids' hashes within their
         typology, so that both halves hold as many of each; all other rows by the hash of their id
Last     the last 40 % of the time, whatever the scenario
Labels   a row is bad, a look-alike, or normal; the two sides of a row between two banks carry its label both
Errors   ``SystemExit`` in one sentence, when files are missing or do not belong together
"""

import csv
import gzip
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from bench.convert.bank_rows import rows_in
from clearhold.features.core.instants import parse_instant

LABEL_COLUMNS: Final = ("transfer_id", "is_bad", "typology", "scenario_id", "is_benign_lookalike")
RECEIVER: Final = "-in"
FIT_PERCENT: Final = 60


class Half(StrEnum):
    TUNE = "tune"  # may be looked at to set thresholds
    REPORT = "report"  # the half for the figures
    BOTH = "both"
    LAST = "last"  # no half of the scenarios: the last 40 % of the time, for cards that were fitted to the rest


class Label(msgspec.Struct, frozen=True, gc=False):
    """The label of a row; ``scenario`` is empty for a normal one, and the row's id for a look-alike alone."""

    bad: bool
    typology: str
    scenario: str

    @property
    def lookalike(self) -> bool:
        return bool(self.scenario) and not self.bad


NORMAL: Final = Label(bad=False, typology="normal", scenario="")


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The service's answer for one transfer. ``signals`` and ``hard`` are None where it has none."""

    id: str
    program: str
    rail: str
    cents: int
    score: int | None
    signals: tuple[str, ...] | None
    hard: bool | None
    by_card: int | None = None  # the score that another card gives the same vector
    over_own: int | None = None  # the amount in percent of what nine of ten of the entity's own are within
    oddness: float | None = None  # what an isolation forest says of the same measures
    by_trees: float | None = None  # log-odds of bad by trees over the vectors
    by_signal_trees: float | None = None  # and by trees over the signals


class Case(msgspec.Struct, frozen=True, gc=False):
    """A transfer for one bank, and its row's label. ``order`` breaks ties: the hash of its id."""

    answer: Answer
    row: str
    label: Label
    first_of_pair: bool
    at: int
    order: int


class _Known(msgspec.Struct, frozen=True, gc=False):
    label: Label
    first_of_pair: bool
    at: int
    half: Half


def hash_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def labels_in(path: Path) -> dict[str, Label]:
    with gzip.open(path, "rt", newline="") as file:
        lines = csv.reader(file)
        if tuple(next(lines, ())) != LABEL_COLUMNS:
            raise SystemExit(f"{path} does not begin with the columns {', '.join(LABEL_COLUMNS)}.")
        return {
            row: NORMAL if "true" not in (bad, alike) else Label(bad == "true", kind, scenario or row)
            for row, bad, kind, scenario, alike in lines
        }


def halves_of(labels: Iterable[Label]) -> dict[str, Half]:
    """The half of every scenario."""
    strata: dict[tuple[str, bool], set[str]] = {}
    for label in labels:
        if label.scenario:
            strata.setdefault((label.typology, label.bad), set()).add(label.scenario)
    halves = {}
    for scenarios in strata.values():
        ordered = sorted(scenarios, key=lambda scenario: (hash_of(scenario), scenario))
        for place, scenario in enumerate(ordered):
            halves[scenario] = Half.TUNE if place < len(ordered) // 2 else Half.REPORT
    return halves


def cut(source: Path, folder: Path, rows: int) -> Path:
    """The first ``rows`` rows, in a separate file."""
    path = folder / "first-rows.csv"
    with gzip.open(source, "rt", newline="") as lines, path.open("w", newline="") as some:
        some.writelines(islice(lines, rows + 1))
    return path


class Known:
    """The label of every row of the transfers, by its id."""

    def __init__(self, transfers: Path, labels: Mapping[str, Label]) -> None:
        halves, pairs = halves_of(labels.values()), set[tuple[str, str]]()
        self._rows: dict[str, _Known] = {}
        for row in rows_in(transfers):
            label, pair, at = labels.get(row.id), (row.from_id, row.to_id), parse_instant(row.at)
            if label is None or at is None:
                raise SystemExit(f"{transfers}: {row.id} has no label or no time.")
            half = halves[label.scenario] if label.scenario else (Half.TUNE, Half.REPORT)[hash_of(row.id) & 1]
            self._rows[row.id] = _Known(label, pair not in pairs, at, half)
            pairs.add(pair)
        instants = [row.at for row in self._rows.values()]
        self.first_at, self.last_at = min(instants, default=0), max(instants, default=0)
        self.fit_until = self.first_at + (self.last_at - self.first_at) * FIT_PERCENT // 100

    def __len__(self) -> int:
        return len(self._rows)

    def label_of(self, transfer_id: str) -> tuple[str, Label]:
        """A transfer's row, and the label of it."""
        row = row_of(transfer_id)
        return row, self._rows[row].label

    def time_of(self, transfer_id: str) -> int:
        return self._rows[row_of(transfer_id)].at

    def cases(self, answers: Iterable[Answer], half: Half) -> Iterator[Case]:
        """The answers of one half, with their labels."""
        for answer in answers:
            row = row_of(answer.id)
            known = self._rows[row]
            if half in (Half.BOTH, known.half) or (half is Half.LAST and known.at > self.fit_until):
                yield Case(answer, row, known.label, known.first_of_pair, known.at, hash_of(answer.id))


def row_of(transfer_id: str) -> str:
    """The row's id: without the rail before it and the word for the receiver's side after it."""
    return transfer_id.partition("_")[2].removesuffix(RECEIVER)
