"""What do the bands find of the bad scenarios of a labelled world, and at what cost, beside baselines at equal volume?

Run      ``python -m bench detection --world amlsim|personas|synthfin --data FOLDER``; FOLDER holds the world's
         transfers and labels, and is looked for beside the project when it is not named. The data is not part of this
         repository, so a run of all benchmarks leaves this one out where it is missing
Way      the rows become bank events as the world's converter says, and go through the shards' own states in one
         process; with ``--service`` as signed webhooks through ``clearhold serve``, which takes several times as long
Cards    ``--card FILE`` ranks the same vectors by another card too, such as one of ``clearhold calibrate``; with
         ``--half last``, the last 40 % of the time, for one that was fitted to the rest
Vectors  ``--dump FILE.parquet`` keeps the vector and the label of each transfer
Halves   one half of the scenarios is for setting thresholds, the other for telling figures (``--half``)
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.detection.data import Answer, Half, Known, cut, labels_in
from bench.detection.measures import Share, per_thousand, touched
from bench.detection.report import FIRST_PAIR, RANKINGS, SCORE, VOLUMES, Findings, findings_of, markdown, scenarios_of
from bench.detection.stream import Heard, from_service, from_states
from bench.detection.vectors import VectorFile
from bench.detection.worlds import WORLDS, World
from bench.harness import RESULTS, Figure, Run
from bench.service import CHECKOUT
from bench.workbench import PREFIX
from features.catalogue.vector import FeatureVector
from features.scorers.card_check import read_card
from features.scorers.cards import compile_card
from features.scorers.engine import CompiledCard

BESIDE_THE_PROJECT: Final = CHECKOUT.parent / "shared" / "data"
QUICK_ROWS: Final = 60_000
REPORT: Final = RESULTS.parent


def run(run: Run) -> Iterator[Figure]:
    request = run.asked
    world = WORLDS[request.world]
    try:
        source, labels = world.found_in(request.data or BESIDE_THE_PROJECT)
    except FileNotFoundError as missing:
        if request.data is not None or request.by_name:
            raise SystemExit(f"No transfers of {world.name}: {missing}. Name their folder with --data.") from missing
        run.say(f"left out: {missing}")
        return
    half = Half(request.half)
    known, answers = _answered(run, world, source, labels)
    findings = findings_of(list(known.cases(answers, half)), half)
    text = markdown(findings)
    REPORT.mkdir(exist_ok=True)
    (REPORT / f"detection-{world.name}-{half.value}.md").write_text(text)
    print(text)
    yield from _figures(findings)


def _answered(run: Run, world: World, source: Path, labels: Path) -> tuple[Known, list[Answer]]:
    rows = run.asked.sample or run.size(0, QUICK_ROWS)
    with TemporaryDirectory(prefix=PREFIX) as folder:
        if rows:
            source = cut(source, Path(folder), rows)
        known = Known(source, labels_in(labels))
        run.say(f"{len(known):,} rows as bank events")
        events = world.convert(source, Path(folder) / "events")
        files = sorted((Path(folder) / "events").glob("*.ndjson"))
        with run.counting(
            "through the service" if run.asked.service else "scoring", sum(events.events.values())
        ) as done:
            answers = list(from_service(files, done) if run.asked.service else _from_states(run, known, files, done))
    if len(answers) != sum(events.transfers.values()):
        raise SystemExit(f"{sum(events.transfers.values()):,} transfers went in and {len(answers):,} came back.")
    return known, answers


def _from_states(run: Run, known: Known, files: list[Path], done: Callable[[int], None]) -> Iterator[Answer]:
    card = None if run.asked.card is None else _card_in(run.asked.card)
    if run.asked.dump is None:
        yield from from_states(files, done, lambda: Heard(card))
        return
    vectors = VectorFile(run.asked.dump, known, card)
    yield from from_states(files, done, vectors.hear)
    vectors.close()


def _card_in(path: Path) -> CompiledCard[FeatureVector]:
    card, faults = read_card(path.read_bytes())
    if card is None or faults:
        raise SystemExit(f"{path}: {'; '.join(f'{fault.path} {fault.sentence}' for fault in faults)}")
    return compile_card(card)


def _figures(findings: Findings) -> Iterator[Figure]:
    count, population, alerted, held = (
        len(findings.cases),
        *map(touched, (findings.cases, findings.alerted, findings.held)),
    )
    half = f"{findings.half.value} half"
    for name, some in (("review or hold", findings.alerted), ("hold", findings.held)):
        value, note = per_thousand(len(some), count), f"{len(some):,} of {count:,} transfers, {half}"
        yield Figure(name=f"in {name}", value=value, unit="per 1,000", note=note)
    yield _figure("unscored", findings.unscored)
    for kind in population:
        name = f"{kind.typology}, {'bad' if kind.bad else 'look-alikes'} touched"
        yield _figure(name, scenarios_of(kind, alerted, population), f"hold {scenarios_of(kind, held, population)}")
    for place in range(len(VOLUMES)):
        for what in ("precision", "recall"):
            shares: dict[str, Share] = {name: getattr(findings.at_volumes[name][place], what) for name in RANKINGS}
            mine, pairs = shares[SCORE].value, shares[FIRST_PAIR].value
            yield Figure(
                name=f"{what} at {VOLUMES[place]}",
                value=None if mine is None else 100 * mine,
                unit="%",
                ratio=mine / pairs if mine is not None and pairs else None,
                beside="; ".join(f"{name} {shares[name]}" for name in RANKINGS if name != SCORE),
                note=str(shares[SCORE]),
            )


def _figure(name: str, share: Share, note: str = "") -> Figure:
    value = None if share.value is None else 100 * share.value
    return Figure(name=name, value=value, unit="%", note="; ".join(filter(None, (str(share), note))))
