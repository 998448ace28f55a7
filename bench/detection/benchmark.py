"""What do the bands find of the bad scenarios of a labelled world, and at what cost, beside baselines at equal volume?

Run      ``python -m bench detection --world NAME --data FOLDER``; FOLDER holds the world's transfers and labels, and
         is looked for beside the project when it is not named. ``--world all`` takes one world after another. The data
         is not part of this repository, so a run of all benchmarks leaves this one out where it is missing
Way      the rows become bank events as the world's converter says, and go through the shards' own states in one
         process; with ``--service`` as signed webhooks through ``clearhold serve``, which takes several times as long
Vectors  ``--dump FILE.parquet`` keeps the vector and the label of each transfer, and ``--vectors FILE.parquet`` reads
         those of an earlier run, which the default card then scores again. ``--keep FOLDER`` does both, a file a
         world: the first run measures, and later ones read while the data and the code that measures are the same
Halves   one half of the scenarios is for setting thresholds, the other for telling figures (``--half``). With
         ``--half last``, the last 40 % of the time, a card and an isolation forest are fitted to the rest of it and
         rank the same vectors; ``--card FILE`` takes the place of the fitted card
Page     ``--page docs/detection.md`` writes that page from the last such run of each world
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from bench.detection.data import Answer, Half, Known, cut, labels_in
from bench.detection.kept import complete, kept_file
from bench.detection.learned import learn, only
from bench.detection.measures import Share, per_thousand, touched
from bench.detection.page import keep_world, page_of
from bench.detection.report import FIRST_PAIR, RANKINGS, SCORE, VOLUMES, Findings, findings_of, markdown, scenarios_of
from bench.detection.stream import from_service, from_states
from bench.detection.trees import Field
from bench.detection.vectors import answers_in, count_in, write_vectors
from bench.detection.worlds import WORLDS, World
from bench.harness import RESULTS, Figure, Run
from bench.service import CHECKOUT
from bench.workbench import PREFIX
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.scorers.cards import compile_card, read_card
from clearhold.features.scorers.engine import CompiledCard

BESIDE_THE_PROJECT: Final = CHECKOUT.parent / "shared" / "data"
ALL: Final = "all"
QUICK_ROWS: Final = 60_000
REPORT: Final = RESULTS.parent


def run(run: Run) -> Iterator[Figure]:
    request, several = run.asked, run.asked.world == ALL
    for world in WORLDS.values() if several else (WORLDS[request.world],):
        for figure in _of_world(run, world):
            yield msgspec.structs.replace(figure, name=f"{world.name}: {figure.name}") if several else figure
    if request.page is not None:
        request.page.write_text(page_of(REPORT))


def _of_world(run: Run, world: World) -> Iterator[Figure]:
    request = run.asked
    try:
        source, labels = world.found_in(request.data or BESIDE_THE_PROJECT)
    except FileNotFoundError as missing:
        if request.data is not None or request.by_name:
            raise SystemExit(f"No transfers of {world.name}: {missing}. Name their folder with --data.") from missing
        run.say(f"left out: {missing}")
        return
    half = Half(request.half)
    known, answers, alone = _answered(run, world, source, labels)
    findings = findings_of(list(known.cases(answers, half)), list(known.cases(answers, Half.BOTH)), half, alone)
    text = markdown(findings)
    REPORT.mkdir(exist_ok=True)
    (REPORT / f"detection-{world.name}-{half.value}.md").write_text(text)
    print(text)
    if half is Half.LAST:
        keep_world(REPORT, world, findings)
    yield from _figures(findings)


def _answered(run: Run, world: World, source: Path, labels: Path) -> tuple[Known, list[Answer], Sequence[Field]]:
    asked = run.asked
    rows = asked.sample or run.size(0, QUICK_ROWS)
    with TemporaryDirectory(prefix=PREFIX) as folder:
        if rows:
            source = cut(source, Path(folder), rows)
        known = Known(source, labels_in(labels))
        kept = None if asked.keep is None else kept_file(asked.keep, world.name, source, labels)
        vectors = kept if kept is not None and kept.is_file() else asked.vectors
        if vectors is None:
            run.say(f"{len(known):,} rows as bank events")
            events = world.convert(source, Path(folder) / "events")
            files, count = sorted((Path(folder) / "events").glob("*.ndjson")), sum(events.events.values())
            if asked.service:
                with run.counting("through the service", count) as done:
                    answers = list(from_service(files, done))
                _require(len(answers), sum(events.transfers.values()))
                return known, answers, ()
            vectors = kept or asked.dump or Path(folder) / "vectors.parquet"
            with run.counting("scoring", count) as done, complete(vectors) as partial:
                write_vectors(partial, known, from_states(files, done))
                _require(count_in(partial), sum(events.transfers.values()))
        return known, *_by_vectors(run, world, known, vectors)


def _by_vectors(run: Run, world: World, known: Known, vectors: Path) -> tuple[list[Answer], Sequence[Field]]:
    count = count_in(vectors)
    card = None if run.asked.card is None else _card_in(run.asked.card)
    learned = None
    if run.asked.half == Half.LAST:
        with run.counting("learning from the first 60 %", count) as done:
            learned = learn(vectors, known, world, card, done)
        if learned.no_card:
            run.say(f"no fitted card: {learned.no_card}")
    elif card is not None:
        learned = only(card)
    with run.counting("reading vectors", count) as done:
        return list(answers_in(vectors, learned, done)), () if learned is None else learned.alone


def _require(came: int, went: int) -> None:
    if came != went:
        raise SystemExit(f"{went:,} transfers went in and {came:,} came back.")


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
