"""Cards that are refused, each with the path of its fault; and that a card stays refused however hostile it is."""

import json
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.core.errors import FieldCode
from clearhold.features.core.scorecards import Bin, CardCap, CardSignal, Scorecard, points_when
from clearhold.features.scorers.cards import DEFAULTS, MOST_WEIGHED, compile_card, faults_of, read_card
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.scorers.ers_v1 import DEFAULT as ENTITY_DEFAULT
from clearhold.features.scorers.trs_v1.scorer import DEFAULT_CARD as CARD
from clearhold.features.scorers.trs_v1.scorer import SCORER
from tests.support.builders import a_vector
from tests.support.cards import changed

BURST: Final = "TRS-CPY-04"
RARE: Final = "TRS-CPY-06"
CLEAN: Final = "TRS-HIS-01"
PLACE: Final = [signal.id for signal in CARD.signals].index(BURST)
CLEAN_PLACE: Final = [signal.id for signal in CARD.signals].index(CLEAN)
AT: Final = f"signals[{PLACE}]"


def with_bins(*bins: tuple[int, int | None, int], signal_id: str = BURST) -> Scorecard:
    """The default card with other bins of one signal: at least, below, points."""
    signal = CardSignal(id=signal_id, bins=tuple(Bin(at_least=a, below=b, points=p) for a, b, p in bins))
    return changed(CARD, signals=tuple(signal if each.id == signal_id else each for each in CARD.signals))


def without(signal_id: str) -> Scorecard:
    return changed(CARD, signals=tuple(each for each in CARD.signals if each.id != signal_id))


FAULTS: Final[dict[str, tuple[Scorecard, str, FieldCode]]] = {
    "no scorer": (changed(CARD, scorer="xrs"), "scorer", FieldCode.NOT_ONE_OF),
    "a blank name": (changed(CARD, name="  "), "name", FieldCode.TOO_SHORT),
    "a name that turns round": (changed(CARD, name="card \u202e"), "name", FieldCode.MALFORMED),
    "no floor of the program": (changed(CARD, program_floor=None), "programFloor", FieldCode.REQUIRED),
    "a floor of the program too many": (
        changed(ENTITY_DEFAULT.card, program_floor=3),
        "programFloor",
        FieldCode.CONFLICTING,
    ),
    "the most where the usual is known, of a scorer that knows none": (
        changed(
            ENTITY_DEFAULT.card,
            signals=(
                msgspec.structs.replace(ENTITY_DEFAULT.card.signals[0], most_known=3),
                *ENTITY_DEFAULT.card.signals[1:],
            ),
        ),
        "signals[0].mostKnown",
        FieldCode.CONFLICTING,
    ),
    "a cap of no family": (
        changed(CARD, caps=(CardCap(family="weather", points=3),)),
        "caps[0].family",
        FieldCode.NOT_ONE_OF,
    ),
    "a cap of a family that has none": (
        changed(CARD, caps=(CardCap(family="history", points=3),)),
        "caps[0].family",
        FieldCode.NOT_ONE_OF,
    ),
    "a cap twice": (changed(CARD, caps=CARD.caps[:1] * 2), "caps[1].family", FieldCode.REPEATED),
    "a signal that is none": (
        changed(CARD, signals=(*CARD.signals, points_when("TRS-NEW-99", 0))),
        f"signals[{len(CARD.signals)}].id",
        FieldCode.NOT_ONE_OF,
    ),
    "a signal of another scorer": (
        changed(CARD, signals=(*CARD.signals, points_when("ERS-KYC-02", 0))),
        f"signals[{len(CARD.signals)}].id",
        FieldCode.NOT_ONE_OF,
    ),
    "a signal twice": (
        changed(CARD, signals=(*CARD.signals, points_when(CARD.signals[0].id, 0))),
        f"signals[{len(CARD.signals)}].id",
        FieldCode.REPEATED,
    ),
    "points that are worked out": (
        changed(ENTITY_DEFAULT.card, signals=(points_when("ERS-TRF-01", 3), *ENTITY_DEFAULT.card.signals)),
        "signals[0].id",
        FieldCode.NOT_ONE_OF,
    ),
    "a bin that ends before it begins": (
        with_bins((5, 4, 3), (6, None, 4)),
        f"{AT}.bins[0].below",
        FieldCode.CONFLICTING,
    ),
    "an empty bin": (with_bins((5, 5, 3), (6, None, 4)), f"{AT}.bins[0].below", FieldCode.CONFLICTING),
    "bins that overlap": (with_bins((5, 9, 3), (8, None, 4)), f"{AT}.bins[0].below", FieldCode.CONFLICTING),
    "an endless bin before another": (
        with_bins((5, None, 3), (8, None, 4)),
        f"{AT}.bins[0].below",
        FieldCode.CONFLICTING,
    ),
    "bins with a hole": (with_bins((5, 7, 3), (8, None, 4)), f"{AT}.bins[0].below", FieldCode.CONFLICTING),
    "bins that fall": (with_bins((8, 9, 3), (5, None, 4)), f"{AT}.bins[1].atLeast", FieldCode.CONFLICTING),
    "the same bin twice": (with_bins((8, None, 3), (8, None, 4)), f"{AT}.bins[1].atLeast", FieldCode.CONFLICTING),
    "points where nothing is": (with_bins((0, None, 3)), f"{AT}.bins[0].atLeast", FieldCode.TOO_SMALL),
    "fewer points for what is worse": (
        with_bins((5, 8, 4), (8, None, 3)),
        f"{AT}.bins[1].points",
        FieldCode.CONFLICTING,
    ),
    "points taken away for what is bad": (
        with_bins((5, 8, -4), (8, None, -3)),
        f"{AT}.bins[0].points",
        FieldCode.TOO_SMALL,
    ),
    "points for a clean past": (
        with_bins((1, None, 1), signal_id=CLEAN),
        f"signals[{CLEAN_PLACE}].bins[0].points",
        FieldCode.TOO_LARGE,
    ),
    "no points for the worst": (with_bins((5, 8, 4)), f"{AT}.bins[0].below", FieldCode.CONFLICTING),
    "a hard signal left out": (without("TRS-KYC-01"), "signals", FieldCode.REQUIRED),
    "too many points": (with_bins((5, None, 10**6)), f"{AT}.bins[0].points", FieldCode.TOO_LARGE),
    "too few points": (with_bins((5, None, -(10**6))), f"{AT}.bins[0].points", FieldCode.TOO_SMALL),
    "a measure beyond measure": (with_bins((2**60, None, 3)), f"{AT}.bins[0].atLeast", FieldCode.TOO_LARGE),
    "too many bins": (
        with_bins(*((at, at + 1, 1) for at in range(1, 10**4))),
        f"{AT}.bins",
        FieldCode.TOO_LONG,
    ),
    "no bins": (with_bins(), f"{AT}.bins", FieldCode.TOO_SHORT),
    "no signals": (changed(CARD, signals=()), "signals", FieldCode.TOO_SHORT),
    "a floor of nothing": (changed(CARD, floor=0), "floor", FieldCode.TOO_SMALL),
}


@pytest.mark.parametrize("name", FAULTS)
def test_given_a_card_with_a_fault_then_it_is_refused_at_its_path(name: str) -> None:
    card, path, code = FAULTS[name]

    faults = list(faults_of(card))

    assert [(fault.path, fault.code) for fault in faults] == [(path, code)]
    assert all(fault.sentence.startswith(("must", "is required", "does not fit: ")) for fault in faults)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2.5, "7", None, True])
def test_given_a_number_that_is_no_integer_then_it_is_refused_at_its_path(value: object) -> None:
    wrong: Any = value

    faults = list(faults_of(with_bins((5, None, wrong))))

    assert [(fault.path, fault.code) for fault in faults] == [(f"{AT}.bins[0].points", FieldCode.WRONG_TYPE)]


@pytest.mark.parametrize(
    ("signal_id", "bins"),
    [
        ("TRS-RET-06", [(2, None, 30)]),
        ("TRS-RET-06", [(10**9, None, 30)]),
        ("TRS-RET-03", [(1, 6, 20)]),
        ("TRS-RET-03", [(0, 5, 20)]),
    ],
)
def test_given_a_hard_signal_that_would_fire_less_often_then_the_card_is_refused(
    signal_id: str, bins: list[tuple[int, int | None, int]]
) -> None:
    place = [signal.id for signal in CARD.signals].index(signal_id)

    (fault,) = faults_of(with_bins(*bins, signal_id=signal_id))

    assert (fault.path, fault.code) == (f"signals[{place}].bins", FieldCode.CONFLICTING)


@pytest.mark.parametrize("bins", [[(0, 6, 5)], [(0, 3, 40), (3, 9, 7)], [(0, None, 0)]])
def test_given_a_hard_signal_that_fires_as_often_or_more_then_its_points_are_the_banks(
    bins: list[tuple[int, int | None, int]],
) -> None:
    assert list(faults_of(with_bins(*bins, signal_id="TRS-RET-03"))) == []


def test_given_a_hard_signal_that_takes_points_away_then_the_card_is_refused() -> None:
    (fault,) = faults_of(with_bins((1, None, -1), signal_id="TRS-RET-06"))

    assert (fault.path.rpartition(".")[2], fault.code) == ("points", FieldCode.TOO_SMALL)


def test_given_a_signal_of_which_less_is_worse_then_its_points_may_fall() -> None:
    assert list(faults_of(with_bins((0, 5, 30), (5, 20, 10), (20, 31, -2), signal_id=RARE))) == []


def test_given_points_for_more_signals_than_explain_then_the_card_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    small = changed(CARD, signals=tuple(each for each in CARD.signals if SCORER.signals[each.id].hard))
    as_default = CompiledCard(SCORER, small, "trs-v1")
    monkeypatch.setitem(DEFAULTS, "trs", as_default)
    others = [each for each in CARD.signals if each not in small.signals and any(part.points for part in each.bins)]
    room = MOST_WEIGHED - len(small.signals)
    full, last = changed(CARD, signals=(*small.signals, *others[:room])), others[room]

    with_more = changed(full, signals=(*full.signals, last))
    with_unweighed = changed(full, signals=(*full.signals, points_when(last.id, 0)))

    assert list(faults_of(full)) == list(faults_of(with_unweighed)) == []
    assert [(fault.path, fault.code) for fault in faults_of(with_more)] == [("signals", FieldCode.TOO_LONG)]


@pytest.mark.parametrize(
    ("raw", "path", "code"),
    [
        (b"", "", FieldCode.MALFORMED),
        (b"[]", "", FieldCode.WRONG_TYPE),
        (b"\xff{}", "", FieldCode.MALFORMED),
        (b'{"scorer": "trs"}', "", FieldCode.REQUIRED),
        (b'{"scorer": NaN}', "", FieldCode.MALFORMED),
        (b"[" * 10**5, "", FieldCode.WRONG_TYPE),
        (b'{"signals": ' + b"[" * 10**5, "signals[0]", FieldCode.WRONG_TYPE),
        (b'{"scorer": "trs", "weather": 1}', "", FieldCode.UNKNOWN),
    ],
)
def test_given_bytes_that_are_no_card_then_the_fault_says_where(raw: bytes, path: str, code: FieldCode) -> None:
    card, (fault,) = read_card(raw)

    assert (card, fault.path, fault.code) == (None, path, code)
    assert "weather" not in fault.sentence


@pytest.mark.parametrize(
    ("whole", "twice"),
    [
        ('"floor":5', '"floor":5,"floor":6'),
        ('"points":', '"points":1,"points":'),
        ('"name":', '"caps":[],"name":'),
    ],
)
def test_given_a_card_that_says_a_thing_twice_then_it_is_refused(whole: str, twice: str) -> None:
    raw = msgspec.json.encode(CARD).decode()
    assert read_card(raw.encode()) == (CARD, ())

    _, faults = read_card(raw.replace(whole, twice, 1).encode())

    assert [(fault.sentence.split()[2:], fault.code) for fault in faults] == [
        (["twice", "in", "one", "object"], FieldCode.REPEATED)
    ]


def test_given_a_million_bins_or_points_in_a_file_then_it_is_refused_at_its_path() -> None:
    body = msgspec.to_builtins(CARD)
    body["signals"][3]["bins"] = [{"atLeast": at, "below": at + 1, "points": 1} for at in range(1, 10**5)]
    _, (bins,) = read_card(json.dumps(body).encode())
    body["signals"][3]["bins"] = [{"atLeast": 1, "points": 10**6}]
    _, (points,) = read_card(json.dumps(body).encode())

    assert (bins.path, bins.code) == ("signals[3].bins", FieldCode.TOO_LONG)
    assert (points.path, points.code) == ("signals[3].bins[0].points", FieldCode.TOO_LARGE)


JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_given_a_card_with_anything_in_any_place_then_it_has_faults_or_scores(data: st.DataObject) -> None:
    body: Any = msgspec.to_builtins(CARD)
    place: Any = body
    for _ in range(data.draw(st.integers(0, 4))):
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list | tuple) or not place[key]:
            break
        place[key] = list(place[key]) if isinstance(place[key], tuple) else place[key]
        place = place[key]
    place[data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))] = data.draw(JSON)

    card, faults = read_card(json.dumps(body).encode())

    assert (card is None) <= bool(faults)
    if card is not None and not faults:
        assert compile_card(card).score(a_vector()).version == "trs-v1"


def test_given_the_default_cards_then_a_cap_of_each_family_may_stand_once() -> None:
    for default in DEFAULTS.values():
        families = [CardCap(family=name, points=5) for name in default.scorer.caps]
        assert list(faults_of(changed(default.card, caps=tuple(families)))) == []


@pytest.mark.parametrize(
    "signal_id", ["TRS-AMT-04", "TRS-AMT-05", "TRS-AMT-06", "TRS-AMT-09", "TRS-CPY-04", "TRS-CPY-05", "TRS-VEL-03"]
)
def test_given_a_count_that_includes_the_transfer_then_points_begin_at_two(signal_id: str) -> None:
    alone, beside = (with_bins((least, None, 3), signal_id=signal_id) for least in (1, 2))
    place = [signal.id for signal in CARD.signals].index(signal_id)

    assert [(fault.path, fault.code) for fault in faults_of(alone)] == [
        (f"signals[{place}].bins[0].atLeast", FieldCode.TOO_SMALL)
    ]
    assert not list(faults_of(beside))
