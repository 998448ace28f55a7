"""Drafts: every figure is of the evidence, the parts are in order, the length fits, and no name is in them."""

import re
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.alerts.evidence_bodies import Recommendation
from clearhold.features.alerts.narrative import recommended
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.instants import format_instant
from clearhold.features.core.money import money
from clearhold.features.core.rows.alerts import AlertRow, DispositionRow
from clearhold.features.core.vocabulary import Band, Severity
from clearhold.features.detectors.table import DETECTOR_OF
from tests.checks.detector_case import DetectorCase
from tests.checks.detector_cases import CASES
from tests.support import bank_events as bank
from tests.support.alert_rows import evidence_of
from tests.support.clock import T0
from tests.support.programs import warmed_program
from tests.support.stories import detector_story

ALL_CASES: Final = [
    pytest.param(case, id=f"{detector}-{name}") for detector, cases in CASES.items() for name, case in cases.items()
]
PARTS: Final = ("Who:", "What and when:", "Where:", "Why it alerted:", "Reviewed:")
LENGTHS: Final = {"close": (80, 250), "hold": (150, 500), "escalate": (150, 500)}
_FIGURE: Final = re.compile(r"\d+(?:[.,:]\d+)*")


def draft_of(alert: AlertRow) -> dict[str, Any]:
    assert alert.draft is not None
    found: dict[str, Any] = msgspec.json.decode(alert.draft)
    return found


def unfounded(narrative: str, alert: AlertRow) -> set[str]:
    """Figures of the text that are neither of the evidence nor the alert's own id and times."""
    instants = [format_instant(at) for at in (alert.opened_at, alert.due_at) if at is not None]
    known = _FIGURE.findall(" ".join((alert.evidence, alert.id, alert.program_id, alert.subject_id, *instants)))
    cents = [money(int(figure)).removeprefix("USD ") for figure in known if figure.isdigit()]
    return set(_FIGURE.findall(narrative)) - {*known, *cents}


def codes_in(alert: AlertRow, narrative: str) -> set[str]:
    """Names of signals and detectors with an underscore that a sentence has; the evidence has them all."""
    evidence = evidence_of(alert)
    reasons = [*evidence.get("reasons", []), *evidence.get("scoreReasons", [])]
    codes = {*DETECTOR_OF, *evidence.get("otherSignals", []), *(each["signal"] for each in reasons)}
    said = {*re.findall(r"[a-z]+(?:_[a-z0-9]+)+", f"{alert.summary} {evidence['finding']} {narrative}")}
    return codes & said


def check(alert: AlertRow, narrative: str, recommendation: str) -> None:
    least, most = LENGTHS[recommendation]
    places = [narrative.index(part) for part in (*PARTS, f"Why {recommendation}:")]

    assert not unfounded(narrative, alert)
    assert places == sorted(places)
    assert not codes_in(alert, narrative)
    assert least <= len(narrative.split()) <= most
    assert alert.id in narrative
    assert not re.search(r"\bSAR\b|suspicious|consistent with .* fraud|None|null", narrative)


@pytest.mark.parametrize("case", ALL_CASES)
def test_given_any_alert_then_its_draft_is_made_of_its_evidence(case: DetectorCase) -> None:
    story = detector_story(**case.declared)

    case.play(story, hit=True)

    for alert in story.all(AlertRow):
        draft = draft_of(alert)
        assert (draft["confidence"], draft["narrativeModel"]) == (None, None)
        check(alert, draft["narrative"], draft["recommendation"])


def test_given_a_close_by_the_policy_then_it_signs_what_it_looked_at() -> None:
    story = warmed_program()

    for place in range(8):
        story.wire("enti_1", "cpty_1", 250_00, 80 * DAY + place * HOUR)

    first, *_ = [row for row in story.versions("repeated_amount") if row.status == "auto_closed"]
    signed = next(row for row in story.all(DispositionRow) if row.alert_id == first.id)
    assert signed.decided_by == "policy:policy-v1"
    assert signed.narrative.startswith(f"Closed by policy:policy-v1 at {format_instant(first.opened_at)}")
    assert draft_of(first)["narrative"] == signed.narrative
    for version in story.versions("repeated_amount"):
        check(version, draft_of(version)["narrative"], "close")


def test_given_many_hits_then_the_draft_names_their_number_their_sum_and_the_newest() -> None:
    story = detector_story()

    for place in range(12):
        story.wire("enti_1", f"cpty_{place}", 100_00, place * HOUR // 2)

    alert = story.alert("fan_out")
    assert evidence_of(alert)["hits"] == 8
    assert "8 transfers worth USD 800.00" in draft_of(alert)["narrative"]
    assert "trf_11" in draft_of(alert)["narrative"]


def test_given_the_longest_list_of_transfers_then_every_length_still_fits() -> None:
    story = warmed_program()

    for place in range(40):
        story.wire("enti_1", "cpty_1", 250_00, 80 * DAY + place * HOUR // 2)

    versions = story.versions("repeated_amount") + story.versions("velocity_spike")
    assert max(len(evidence_of(version)["transferIds"]) for version in versions) == 20
    for version in versions:
        draft = draft_of(version)
        check(version, draft["narrative"], draft["recommendation"])


def test_given_parties_with_names_then_no_name_is_in_what_an_alert_says() -> None:
    story = detector_story(declared_rails=("ach",))
    story.introduce("enti_1", verification_status="DENIED")

    story.deliver("counterparty.created", bank.a_counterparty())
    story.deliver("wire.outgoing_transfer.completed", bank.a_wire(entity_id="enti_1"), at=T0 + HOUR)

    text = " ".join(f"{row.summary} {row.evidence} {row.draft}" for row in story.all(AlertRow))
    assert "cpty_1" in text
    for name in ("Dana", "Rivers", "Sam Cole", "North Trading", "HARBOR", "000333444", "021000021", "Acme"):
        assert name not in text


@pytest.mark.parametrize(
    ("severity", "band", "hard", "advice"),
    [
        ("low", "hold", False, Recommendation.HOLD),
        ("high", "hold", True, Recommendation.HOLD),
        ("low", "clear", True, Recommendation.ESCALATE),
        ("high", "clear", False, Recommendation.ESCALATE),
        ("low", "unscored", False, Recommendation.CLOSE),
        ("low", "review", False, Recommendation.CLOSE),
        ("medium", "clear", False, Recommendation.CLOSE),
        ("medium", "review", False, Recommendation.ESCALATE),
        ("medium", "unscored", False, Recommendation.ESCALATE),
        ("medium", None, False, Recommendation.ESCALATE),
        ("high", None, True, Recommendation.ESCALATE),
    ],
)
def test_given_severity_band_and_hardness_then_one_thing_is_recommended(
    severity: str, band: str | None, *, hard: bool, advice: Recommendation
) -> None:
    assert recommended(Severity(severity), None if band is None else Band(band), hard=hard) is advice
