"""Drafts: every figure is of the evidence, the parts are in order, the length fits, and no name is in them."""

import re
from typing import Any, Final

import msgspec
import pytest

from features.alerts.narrative import Recommendation, recommended
from features.core.instants import format_instant
from features.core.rows import AlertRow, DispositionRow
from features.scorers.sentences import money
from tests.checks.detector_stories import STORIES, Story
from tests.features.warmed import warmed
from tests.features.watched import DAY, HOUR, Watched, evidence_of
from tests.support import bank_events as bank

TOLD: Final = [
    pytest.param(story, id=f"{detector}-{name}")
    for detector, stories in STORIES.items()
    for name, story in stories.items()
]
PARTS: Final = ("Who:", "What and when:", "Where:", "Why it alerted:", "Looked at:")
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
    cents = [money(int(figure)) for figure in known if figure.isdigit()]
    return set(_FIGURE.findall(narrative)) - {*known, *cents}


def check(alert: AlertRow, narrative: str, recommendation: str) -> None:
    least, most = LENGTHS[recommendation]
    places = [narrative.index(part) for part in (*PARTS, f"Why {recommendation}:")]

    assert not unfounded(narrative, alert)
    assert places == sorted(places)
    assert least <= len(narrative.split()) <= most
    assert alert.id in narrative
    assert not re.search(r"\bSAR\b|suspicious|consistent with .* fraud|None|null", narrative)


@pytest.mark.parametrize("story", TOLD)
def test_given_any_alert_then_its_draft_is_made_of_its_evidence(story: Story) -> None:
    watched = Watched(**story.declared)

    story.tell(watched, hit=True)

    for alert in watched.all(AlertRow):
        draft = draft_of(alert)
        assert (draft["confidence"], draft["narrativeModel"]) == (None, None)
        check(alert, draft["narrative"], draft["recommendation"])


def test_given_a_close_by_the_policy_then_it_signs_what_it_looked_at() -> None:
    watched = warmed()

    for place in range(8):
        watched.wire("enti_1", "cpty_1", 250_00, 80 * DAY + place * HOUR)

    first, *_ = [row for row in watched.versions("repeated_amount") if row.status == "auto_closed"]
    signed = next(row for row in watched.all(DispositionRow) if row.alert_id == first.id)
    assert signed.decided_by == "policy:policy-v1"
    assert signed.narrative.startswith(f"Closed by policy:policy-v1 at {format_instant(first.opened_at)}")
    assert draft_of(first)["narrative"] == signed.narrative
    for version in watched.versions("repeated_amount"):
        check(version, draft_of(version)["narrative"], "close")


def test_given_many_hits_then_the_draft_names_their_number_their_sum_and_the_newest() -> None:
    watched = Watched()

    for place in range(12):
        watched.wire("enti_1", f"cpty_{place}", 100_00, place * HOUR // 2)

    alert = watched.alert("fan_out")
    assert evidence_of(alert)["hits"] == 8
    assert "8 transfers of 800.00 in all" in draft_of(alert)["narrative"]
    assert "trf_11" in draft_of(alert)["narrative"]


def test_given_the_longest_list_of_transfers_then_every_length_still_fits() -> None:
    watched = warmed()

    for place in range(40):
        watched.wire("enti_1", "cpty_1", 250_00, 80 * DAY + place * HOUR // 2)

    versions = watched.versions("repeated_amount") + watched.versions("velocity_spike")
    assert max(len(evidence_of(version)["transferIds"]) for version in versions) == 20
    for version in versions:
        draft = draft_of(version)
        check(version, draft["narrative"], draft["recommendation"])


def test_given_parties_with_names_then_no_name_is_in_what_an_alert_says() -> None:
    watched = Watched(declared_rails=("ach",))
    watched.know("enti_1", verification_status="DENIED")

    watched.say("counterparty.created", bank.a_counterparty(), 0)
    watched.say("wire.outgoing_transfer.completed", bank.a_wire(entity_id="enti_1"), HOUR)

    told = " ".join(f"{row.summary} {row.evidence} {row.draft}" for row in watched.all(AlertRow))
    assert "cpty_1" in told
    for name in ("Dana", "Rivers", "Sam Cole", "North Trading", "HARBOR", "000333444", "021000021", "Acme"):
        assert name not in told


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
    assert recommended(severity, band, hard=hard) is advice
