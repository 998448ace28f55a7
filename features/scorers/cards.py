"""All scorers, cards compiled for scoring, and the check of a proposed card: signals, bins, caps and floors, each fault
with its path.

Unit    a path is one of the JSON that the author wrote, as ``signals[2].bins[0].points``
Errors  none is raised: faults are values. Only a card without faults is compiled
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import msgspec

from clearhold.features.core.errors import CONTROL_CHARACTERS, FieldCode, WrittenFault
from clearhold.features.core.scorecards import Bin, CardCap, Scorecard
from clearhold.features.scorers import ars_v1, crs_v1, ers_v1, prs_v1
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.scorers.signal import Scorer, Signal
from clearhold.features.scorers.trs_v1 import scorer as trs_v1

_DEFAULTS: Final[tuple[CompiledCard[Any], ...]] = (
    trs_v1.DEFAULT,
    ers_v1.DEFAULT,
    crs_v1.DEFAULT,
    ars_v1.DEFAULT,
    prs_v1.DEFAULT,
)
DEFAULTS: Final = {each.card.scorer: each for each in _DEFAULTS}
"""The default card of each scorer, by its word: trs, ers, crs, ars, prs."""

SCORERS: Final[dict[str, Scorer[Any]]] = {name: each.scorer for name, each in DEFAULTS.items()}
MOST_COMPILED: Final = 512


@lru_cache(maxsize=MOST_COMPILED)
def compile_card(card: Scorecard, *, version: str | None = None) -> CompiledCard[Any]:
    """A card without faults, ready to score; equal content under one version is compiled once.

    ``version`` is the version of the card's policy, as in scorecard-v3; None stands for the scorer's own.
    """
    scorer = SCORERS[card.scorer]
    return CompiledCard(scorer, card, score_version(scorer, version))


def score_version(scorer: Scorer[Any], version: str | None) -> str:
    """The card's name in scores: ``trs-v1`` for the default, ``trs-v1+scorecard-v3`` for a tenant's third."""
    return scorer.version if version is None else f"{scorer.version}+{version}"


MOST_WEIGHED: Final = 40
"""The most signals with points, unless the default card has more: further reasons explain nothing."""

_PLACE: Final = re.compile(r"^(?P<sentence>.*?)(?: - at `\$\.?(?P<path>.*)`)?$", re.DOTALL)
_CODES: Final = (
    ("missing required", FieldCode.REQUIRED),
    ("unknown field", FieldCode.UNKNOWN),
    ("of length <=", FieldCode.TOO_LONG),
    ("of length >=", FieldCode.TOO_SHORT),
    ("<=", FieldCode.TOO_LARGE),
    (">=", FieldCode.TOO_SMALL),
)


def read_card(raw: bytes) -> tuple[Scorecard | None, tuple[WrittenFault, ...]]:
    """The card in JSON, None if it holds no card, and all its faults: the reader for files and request bodies."""
    repeated: list[str] = []

    def names_of(pairs: list[tuple[str, Any]]) -> None:
        repeated.extend(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)

    try:
        card = msgspec.json.decode(raw, type=Scorecard)
        json.loads(raw, object_pairs_hook=names_of)
    except msgspec.ValidationError as error:
        return None, (_shape_fault(str(error)),)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, (WrittenFault("", "is not JSON", FieldCode.MALFORMED),)
    repeats = (WrittenFault("", f"has {name!a} twice in one object", FieldCode.REPEATED) for name in repeated)
    return card, (*repeats, *faults_of(card))


def faults_of(card: Scorecard) -> Iterator[WrittenFault]:
    """All faults of a card; for a card of a wrong shape, which no JSON decodes to, that fault alone."""
    try:
        msgspec.convert(msgspec.to_builtins(card), Scorecard)
    except msgspec.ValidationError as error:
        return iter((_shape_fault(str(error)),))
    default = DEFAULTS.get(card.scorer)
    if default is None:
        sentence = f"must be one of {', '.join(SCORERS)}"
        return iter((WrittenFault("scorer", sentence, FieldCode.NOT_ONE_OF),))
    return chain(
        _name_faults(card.name),
        _floor_faults(card, default.scorer),
        _cap_faults(card.caps, default.scorer),
        _signal_faults(card, default),
        _number_faults(card, default),
        _hard_faults(card, default),
    )


def _shape_fault(message: str) -> WrittenFault:
    """A fault of types, lengths and ranges, which the Structs of a card state; the message is msgspec's."""
    match = _PLACE.match(message)
    sentence, path = (match["sentence"], match["path"] or "") if match else (message, "")
    low = sentence.lower()
    code = next((code for words, code in _CODES if words in low), FieldCode.WRONG_TYPE)
    if code is FieldCode.UNKNOWN:
        sentence = "Has a property that a card does not have"
    return WrittenFault(path, f"does not fit: {sentence[:1].lower()}{sentence[1:]}", code)


def _name_faults(name: str) -> Iterator[WrittenFault]:
    if not name.strip():
        yield WrittenFault("name", "must not be blank", FieldCode.TOO_SHORT)
    elif CONTROL_CHARACTERS.search(name) is not None:
        yield WrittenFault("name", "must not have control characters", FieldCode.MALFORMED)


def _floor_faults(card: Scorecard, scorer: Scorer[Any]) -> Iterator[WrittenFault]:
    if scorer.has_program_floor and card.program_floor is None:
        yield WrittenFault("programFloor", "is required for this scorer", FieldCode.REQUIRED)
    elif not scorer.has_program_floor and card.program_floor is not None:
        yield WrittenFault("programFloor", "must be left out for this scorer", FieldCode.CONFLICTING)


def _cap_faults(caps: tuple[CardCap, ...], scorer: Scorer[Any]) -> Iterator[WrittenFault]:
    known = list(scorer.caps)
    for index, cap in enumerate(caps):
        path = f"caps[{index}].family"
        if cap.family not in known:
            yield WrittenFault(path, f"must be one of {', '.join(known) or 'none'}", FieldCode.NOT_ONE_OF)
        elif cap.family in [other.family for other in caps[:index]]:
            yield WrittenFault(path, "must be one that has no cap yet", FieldCode.REPEATED)


def _signal_faults(card: Scorecard, default: CompiledCard[Any]) -> Iterator[WrittenFault]:
    signals, listed = default.scorer.signals, set[str]()
    for index, each in enumerate(card.signals):
        path = f"signals[{index}]"
        signal = signals.get(each.id)
        if signal is None:
            yield WrittenFault(f"{path}.id", "must be a signal of the scorer", FieldCode.NOT_ONE_OF)
        elif signal.worked_out:
            yield WrittenFault(f"{path}.id", "must not be a signal whose points are worked out", FieldCode.NOT_ONE_OF)
        elif each.id in listed:
            yield WrittenFault(f"{path}.id", "must be a signal that is not listed yet", FieldCode.REPEATED)
        else:
            if each.most_known is not None and default.scorer.common is None:
                sentence = "must be left out for this scorer"
                yield WrittenFault(f"{path}.mostKnown", sentence, FieldCode.CONFLICTING)
            yield from _bin_faults(path, signal.least, each.bins)
            yield from _points_faults(path, signal, each.bins)
        listed.add(each.id)


def _bin_faults(path: str, least: int, bins: tuple[Bin, ...]) -> Iterator[WrittenFault]:
    """Bins rise without a hole: each ends where the next one begins."""
    if bins[0].at_least < least:
        yield WrittenFault(f"{path}.bins[0].atLeast", f"must be at least {least} for this signal", FieldCode.TOO_SMALL)
    for index, each in enumerate(bins):
        below, following = f"{path}.bins[{index}].below", bins[index + 1] if index + 1 < len(bins) else None
        if each.below is not None and each.below <= each.at_least:
            yield WrittenFault(below, "must be more than atLeast", FieldCode.CONFLICTING)
        elif following is None:
            continue
        elif following.at_least <= each.at_least:
            sentence = "must be more than that of the bin before"
            yield WrittenFault(f"{path}.bins[{index + 1}].atLeast", sentence, FieldCode.CONFLICTING)
        elif each.below is None or each.below > following.at_least:
            yield WrittenFault(below, "must not reach into the next bin", FieldCode.CONFLICTING)
        elif each.below < following.at_least:
            yield WrittenFault(below, "must leave no hole before the next bin", FieldCode.CONFLICTING)


def _points_faults(path: str, signal: Signal[Any], bins: tuple[Bin, ...]) -> Iterator[WrittenFault]:
    for index, each in enumerate(bins):
        points = f"{path}.bins[{index}].points"
        if signal.mitigates:
            if each.points > 0:
                yield WrittenFault(points, "must be at most 0: the signal speaks for the transfer", FieldCode.TOO_LARGE)
        elif signal.rises and index and each.points < bins[index - 1].points:
            sentence = "must not be fewer than those of the bin before: more of this signal is worse"
            yield WrittenFault(points, sentence, FieldCode.CONFLICTING)
        elif signal.hard and each.points < 0:
            yield WrittenFault(points, "must be at least 0 for a hard signal", FieldCode.TOO_SMALL)
        elif signal.rises and not index and each.points < 0:
            yield WrittenFault(points, "must be at least 0: more of this signal is worse", FieldCode.TOO_SMALL)
    if signal.rises and bins[-1].below is not None:
        last = f"{path}.bins[{len(bins) - 1}].below"
        yield WrittenFault(last, "must be left out: more of this signal is worse", FieldCode.CONFLICTING)


def _number_faults(card: Scorecard, default: CompiledCard[Any]) -> Iterator[WrittenFault]:
    most = max(MOST_WEIGHED, _weighed_count(default.card))
    if _weighed_count(card) > most:
        yield WrittenFault("signals", f"must give points for at most {most} signals", FieldCode.TOO_LONG)


def _weighed_count(card: Scorecard) -> int:
    return sum(any(each.points for each in signal.bins) for signal in card.signals)


def _hard_faults(card: Scorecard, default: CompiledCard[Any]) -> Iterator[WrittenFault]:
    """A hard signal sends to a person under every card: it fires wherever it does by default."""
    listed = {each.id: (index, each.bins) for index, each in enumerate(card.signals)}
    for signal in default.scorer.signals.values():
        if not signal.hard:
            continue
        if signal.id not in listed:
            yield WrittenFault("signals", f"must have {signal.id}, which is hard", FieldCode.REQUIRED)
            continue
        index, bins = listed[signal.id]
        usual = default.bins_of(signal.id)
        if bins[0].at_least > usual[0].at_least or not _reaches(bins[-1].below, usual[-1].below):
            sentence = "must hold wherever those of the default card do: the signal is hard"
            yield WrittenFault(f"signals[{index}].bins", sentence, FieldCode.CONFLICTING)


def _reaches(below: int | None, usual: int | None) -> bool:
    return below is None or (usual is not None and below >= usual)
