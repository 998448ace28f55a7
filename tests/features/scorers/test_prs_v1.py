"""prs-v1: what watch and breach weigh, what is measured, and that every score adds up."""

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.kris import KriName, KriStatus, KriUnit, KriValue
from clearhold.features.core.vocabulary import Band, Score
from clearhold.features.scorers import prs_v1
from clearhold.features.scorers.prs_v1 import DEFINED
from tests.checks.scorecards import weights


def reading(value: float | None, n: int, status: KriStatus, threshold: float | None) -> KriValue:
    return KriValue(value=value, n=n, unit=KriUnit.RATIO, threshold=threshold, status=status)


OK: Final = reading(0.0, 100, KriStatus.OK, 1.0)
BREACH: Final = reading(0.2, 812, KriStatus.BREACH, 0.1)
WATCH: Final = reading(0.09, 812, KriStatus.WATCH, 0.1)
UNMEASURED: Final = reading(None, 0, KriStatus.UNMEASURED, 0.1)
HEAVY: Final = (KriName.ACH_UNAUTHORIZED_RETURN_RATE, KriName.RESERVE_COVERAGE)


def scored(over: dict[KriName, KriValue], measured: int = 3) -> Score:
    """Some indicators as given, and so many measured in all, the others at ok."""
    quiet = [name for name in DEFINED if name not in over][: measured - len(over)]
    return prs_v1.DEFAULT.score(dict.fromkeys(quiet, OK) | over)


def test_given_indicators_at_ok_then_the_program_scores_nothing_for_no_reason() -> None:
    score = scored({}, measured=18)

    assert (score.version, score.value, score.n, score.confidence) == ("prs-v1", 0, 18, 1.0)
    assert score.reasons == ()


@pytest.mark.parametrize(("number", "name"), list(enumerate(DEFINED, start=1)))
def test_given_an_indicator_when_it_is_at_watch_or_in_breach_then_it_weighs_as_documented(
    number: int, name: KriName
) -> None:
    watch, breach = scored({name: WATCH}), scored({name: BREACH})

    assert weights(watch) == {f"PRS-WAT-{number:02d}": 10}
    assert weights(breach) == {f"PRS-BRE-{number:02d}": 35 if name in HEAVY else 25}
    assert (watch.hard, breach.hard) == (False, name in HEAVY)


def test_given_a_breach_then_the_sentence_names_indicator_value_threshold_and_n() -> None:
    rate = reading(0.0061, 812, KriStatus.BREACH, 0.005)

    (reason,) = scored({KriName.ACH_UNAUTHORIZED_RETURN_RATE: rate}).reasons

    assert reason.sentence == "ach_unauthorized_return_rate is in breach: 0.0061, threshold 0.005 (n = 812)."


@pytest.mark.parametrize(("measured", "value", "confidence"), [(2, None, None), (3, 25, 0.17), (9, 25, 0.5)])
def test_given_the_floor_of_three_then_the_score_begins_there(
    measured: int, value: int | None, confidence: float | None
) -> None:
    score = scored({KriName.CARD_DECLINE_RATE: BREACH}, measured)

    assert (score.value, score.n, score.confidence) == (value, measured, confidence)
    assert score.band is (Band.UNSCORED if value is None else Band.CLEAR)


def test_given_too_few_indicators_when_one_is_a_hard_breach_then_it_alone_is_listed() -> None:
    score = scored({KriName.RESERVE_COVERAGE: reading(0.9, 40, KriStatus.BREACH, 1.0), KriName.HOLD_SHARE: BREACH}, 2)

    assert (score.value, score.hard) == (None, True)
    assert [reason.id for reason in score.reasons] == ["PRS-BRE-05"]


def test_given_unmeasured_indicators_then_they_count_for_nothing() -> None:
    score = prs_v1.DEFAULT.score(dict.fromkeys(DEFINED[:5], UNMEASURED))

    assert (score.value, score.n, score.reasons) == (None, 0, ())


def test_given_many_breaches_then_the_ceiling_is_a_reason() -> None:
    score = prs_v1.DEFAULT.score(dict.fromkeys(DEFINED[:5], BREACH))

    assert score.value == 100
    assert weights(score)["PRS-CAP-99"] == 100 - (35 + 25 + 25 + 25 + 35)


READINGS: Final = st.builds(
    reading,
    value=st.none() | st.floats(0, 3, allow_nan=False),
    n=st.integers(0, 1_000),
    status=st.sampled_from(KriStatus),
    threshold=st.none() | st.sampled_from((0.005, 1.0)),
)
ANY_READINGS: Final = st.dictionaries(st.sampled_from(DEFINED), READINGS)


@settings(max_examples=300, deadline=None)
@given(readings=ANY_READINGS)
def test_given_any_readings_then_the_reasons_add_up_to_the_score(readings: dict[KriName, KriValue]) -> None:
    score = prs_v1.DEFAULT.score(readings)
    measured = [
        each for each in readings.values() if each.value is not None and each.status is not KriStatus.UNMEASURED
    ]
    signals = prs_v1.SCORER.signals

    assert score.n == len(measured)
    assert (score.value is None) == (score.confidence is None) == (len(measured) < 3)
    if score.value is not None:
        assert 0 <= score.value <= 100
        assert sum(reason.weight for reason in score.reasons) == score.value
    else:
        assert all(reason.hard for reason in score.reasons)
    assert all(reason.hard == signals[reason.id].hard for reason in score.reasons if not reason.id.endswith("-CAP-99"))
    order = [(-reason.weight, reason.id) for reason in score.reasons]
    assert order == sorted(order)
