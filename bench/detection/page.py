"""``docs/detection.md``: the text of ``page.md`` beside this module, and the figures of the newest run of each world.

A run with ``--half last`` keeps its tables in ``.bench``; the page needs those of all worlds. Its figures are nowhere
written by hand.
"""

from pathlib import Path
from typing import Final

import msgspec

from bench.detection.holds import holds_of
from bench.detection.report import (
    AMOUNT,
    CARD,
    FOREST,
    LARGER_FIRST,
    LOT,
    MOST_FIELDS,
    OVER_OWN,
    SCORE,
    SIGNAL_TREES,
    TREES,
    VOLUMES_PER_THOUSAND,
    Findings,
    bands,
    decimal,
    fields_alone,
    fitted_bands,
    lookalikes,
    per_typology,
    rankings_of,
    signals,
    summary,
    table,
    typologies,
)
from bench.detection.worlds import WORLDS, World

TEMPLATE: Final = Path(__file__).with_name("page.md")
SIDE_BY_SIDE: Final = "<!-- side by side -->"
HOLDS: Final = "<!-- holds -->"
SHOWN: Final = (SCORE, CARD, TREES, SIGNAL_TREES, FOREST, AMOUNT, LARGER_FIRST, OVER_OWN)
_BESIDE: Final = (*SHOWN, LOT)


class KeptWorld(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of one world: its lines in the tables across worlds, and its own tables."""

    beside: list[list[str]]
    holds: list[list[str]]
    tables: str


def keep_world(folder: Path, world: World, findings: Findings) -> None:
    beside = [
        [world.title, name, decimal(findings.average_precision[name]), *_scenarios(findings, name)]
        for name in _BESIDE
        if name in findings.at_volumes
    ]
    parts = [summary(findings), bands(findings), fitted_bands(findings), typologies(findings)]
    if any(case.label.lookalike for case in findings.cases):
        parts.append(lookalikes(findings))
    parts += [rankings_of(findings, [name for name in SHOWN if name in findings.at_volumes]), per_typology(findings)]
    kept = KeptWorld(
        beside=beside,
        holds=[[world.title, *line] for line in holds_of(findings, world.target)],
        tables="\n\n".join((*parts, signals(findings), fields_alone(findings, MOST_FIELDS))),
    )
    _path(folder, world).write_bytes(msgspec.json.format(msgspec.json.encode(kept)))


def page_of(folder: Path) -> str:
    missing = [world.name for world in WORLDS.values() if not _path(folder, world).is_file()]
    if missing:
        raise SystemExit(f"The page needs a run with --half last of {', '.join(missing)} too.")
    worlds = {
        name: msgspec.json.decode(_path(folder, each).read_bytes(), type=KeptWorld) for name, each in WORLDS.items()
    }
    volumes = [f"at {volume}" for volume in VOLUMES_PER_THOUSAND]
    beside = table("", ("world", "ranked by", "average precision", *volumes), _lines(worlds, "beside"))
    holds = table("", ("world", "requirement", "figures", "holds"), _lines(worlds, "holds"))
    text = TEMPLATE.read_text().replace(SIDE_BY_SIDE, _untitled(beside)).replace(HOLDS, _untitled(holds))
    for name, world in worlds.items():
        text = text.replace(f"<!-- {name} -->", world.tables)
    return text


def _lines(worlds: dict[str, KeptWorld], what: str) -> list[list[str]]:
    return [line for world in worlds.values() for line in getattr(world, what)]


def _untitled(text: str) -> str:
    return text.partition("\n\n")[2]


def _path(folder: Path, world: World) -> Path:
    return folder / f"detection-{world.name}.json"


def _scenarios(findings: Findings, name: str) -> list[str]:
    shares = (each.scenarios.value for each in findings.at_volumes[name][1:])
    return ["not measured" if value is None else f"{100 * value:.1f}" for value in shares]
