"""How many alerts does each detector open on AMLSim per 1,000 transfers, and how are they updated?

Run      ``python -m bench alerts --data FOLDER``, with the data of ``detection``; left out where it is missing
Way      as ``detection``: the rows become bank events and go through the shards' own states in one process
Volume   a detector that opens more than ``FLOOD_PER_THOUSAND`` floods, and is to be defined better
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from bench.detection.benchmark import BESIDE_THE_PROJECT, QUICK_ROWS
from bench.detection.data import cut
from bench.detection.measures import per_thousand
from bench.detection.stream import Heard, from_states
from bench.detection.worlds import AMLSIM
from bench.harness import Figure, Promise, Run
from bench.workbench import PREFIX
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.vocabulary import AlertStatus, Route
from clearhold.features.detectors.table import DETECTORS

FLOOD_PER_THOUSAND: Final = 5.0


class Tally:
    """Alerts at their opening, by detector, and their versions after later hits."""

    def __init__(self) -> None:
        self.opened: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.reviewed: Counter[str] = Counter()
        self.versions: Counter[str] = Counter()
        self._known: set[str] = set()

    def take(self, row: AlertRow) -> None:
        if row.id in self._known:
            self.versions[row.detector] += 1
            return
        self._known.add(row.id)
        self.opened[row.detector][row.status] += 1
        self.reviewed[row.detector] += row.route == Route.REVIEWED


class HeardAlerts(Heard):
    """Hears alerts beside scores."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self._tally = tally

    def __call__(self, row: msgspec.Struct) -> None:
        if isinstance(row, AlertRow):
            self._tally.take(row)
        else:
            super().__call__(row)


def run(run: Run) -> Iterator[Figure]:
    request = run.asked
    try:
        source, _ = AMLSIM.found_in(request.data or BESIDE_THE_PROJECT)
    except FileNotFoundError as missing:
        if request.data is not None or request.by_name:
            raise SystemExit(f"No AMLSim transfers: {missing}. Name their folder with --data.") from missing
        run.say(f"left out: {missing}")
        return
    rows = request.sample or run.size(0, QUICK_ROWS)
    with TemporaryDirectory(prefix=PREFIX) as folder:
        if rows:
            source = cut(source, Path(folder), rows)
        events = AMLSIM.convert(source, Path(folder) / "events")
        tally = Tally()
        with run.counting("watching", sum(events.events.values())) as done:
            files = sorted((Path(folder) / "events").glob("*.ndjson"))
            transfers = sum(len(scored) for scored in from_states(files, done, lambda: HeardAlerts(tally)))
    yield from figures_of(tally, transfers)


def figures_of(tally: Tally, transfers: int) -> Iterator[Figure]:
    """One figure for each detector, also without alerts, and two for all."""
    for detector in DETECTORS:
        opened = tally.opened.get(detector.id, Counter[str]())
        count = opened.total()
        words = ", ".join(f"{opened[status]:,} {status}" for status in AlertStatus if opened[status])
        yield Figure(
            name=detector.id,
            value=per_thousand(count, transfers),
            unit="per 1,000",
            promise=Promise(FLOOD_PER_THOUSAND),
            note=f"{words}; {tally.versions[detector.id]:,} later versions" if count else "none",
        )
    opened_in_all = sum(each.total() for each in tally.opened.values())
    for name, count in (("all detectors", opened_in_all), ("for a person", tally.reviewed.total())):
        yield Figure(
            name=name, value=per_thousand(count, transfers), unit="per 1,000", note=f"{count:,} of {transfers:,}"
        )
