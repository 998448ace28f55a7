"""The words of a weekly report, whole: a busy week, an empty one, and the turns that sentences can take."""

import pytest

from clearhold.api.reports.schemas import (
    DetectorCount,
    EnteredHold,
    PersonDecisionHours,
    WeeklyAlerts,
    WeeklyDispositions,
    WeeklyReport,
    WeeklyScore,
)
from clearhold.api.reports.weekly import weekly_paragraphs
from clearhold.features.core.vocabulary import Band, Route
from tests.support.reports import WEEK, a_kri, an_empty_week, statuses, transfers

OPENING = "Week 2026-W37 of program prg_1 runs from Monday 2026-09-07 00:00 UTC to Monday 2026-09-14 00:00 UTC."
UNMEASURED = "is not measured: it has 5 indicators of the 3 that it needs"
AT = "2026-09-08T14:22:10.000Z"


def words_of(report: WeeklyReport, *, entered: int = 0, now: int = WEEK.end) -> list[str]:
    return [*weekly_paragraphs(report, entered=entered, now=now)]


def test_given_an_empty_week_when_summed_up_then_every_part_says_that_nothing_happened() -> None:
    assert words_of(an_empty_week()) == [
        f"{OPENING} No snapshot of the program's indicators had been taken by its end, so its score is not measured.",
        "No key risk indicator is measured.",
        "The bank created no transfers in the week.",
        "No alert opened. No entity, counterparty or agent entered the hold band, nor did the program.",
        (
            "No decision was made. No person decided an alert for the first time, so the time to a decision is not "
            "measured."
        ),
    ]


def test_given_a_busy_week_when_summed_up_then_every_part_gives_its_figures() -> None:
    counts = (("velocity_spike", 9), ("fan_in", 7), ("round_trip", 5), ("rule:a", 3), ("fan_out", 2), ("rule:b", 1))
    report = an_empty_week(
        program_score=WeeklyScore(current=65, prior=30, band=Band.REVIEW, n=16),
        kris=(
            a_kri("hold_share", "breach", "watch"),
            a_kri("freeze_events", "watch", "watch"),
            a_kri("overdraft_events", "ok", "ok"),
            a_kri("card_decline_rate", "unmeasured", "ok", value=None),
        ),
        transfers=transfers(5_397, "3194330464", returns=(61, 7), bands=(5_102, 221, 34, 40)),
        alerts=WeeklyAlerts(
            total=27,
            by_detector=tuple(
                DetectorCount(detector=detector, route=Route.REVIEWED, count=count) for detector, count in counts
            ),
            by_status=statuses(open=2, held=1, escalated=1, closed=23),
        ),
        entered_hold=tuple(EnteredHold(type="entity", id=f"enti_{n}", score=78, n=64, at=AT) for n in range(7)),
        dispositions=WeeklyDispositions(total=57, by_platform=25, by_person=32, overturned=3),
        time_to_decision_hours=PersonDecisionHours(median=5.25, p90=1022.4, n=30),
    )

    assert words_of(report, entered=12) == [
        (
            f"{OPENING} The Program Risk Score stood at 65 (review, n = 16), 35 points higher than at the end of the "
            "week before (30)."
        ),
        (
            "Of 4 key risk indicators, 3 were measured: 1 in breach (hold share), 1 at watch (freeze events), 1 ok. "
            "Status changes: hold share from watch to breach and card decline rate from ok to unmeasured."
        ),
        (
            "The bank created 5,397 transfers, which moved USD 31,943,304.64. 5,102 were scored clear, 221 review and "
            "34 hold; 40 were not scored. 61 of them were returned, 7 as unauthorized."
        ),
        (
            "27 alerts opened: 9 by velocity spike, 7 by fan in, 5 by round trip, 3 by rule:a, 2 by fan out and 1 by "
            "other detectors. 4 of them wait for a decision. Entered the hold band: entity enti_0 with 78 (n = 64), "
            "entity enti_1 with 78 (n = 64), entity enti_2 with 78 (n = 64), entity enti_3 with 78 (n = 64), entity "
            "enti_4 with 78 (n = 64) and 7 others."
        ),
        (
            "57 decisions were made, 25 by the platform under its policy and 32 by persons; 3 went against a draft "
            "or an earlier automatic close. Persons took a median of 5.2 hours from an alert's opening to its first "
            "decision, and 1,022.4 hours at the 90th percentile (n = 30)."
        ),
    ]


@pytest.mark.parametrize(
    ("current", "prior", "words"),
    [
        (30, 30, "stood at 30 (review, n = 5), as at the end of the week before."),
        (30, 31, "stood at 30 (review, n = 5), 1 point lower than at the end of the week before (31)."),
        (0, None, "stood at 0 (review, n = 5); it was not measured at the end of the week before."),
        (None, 35, f"{UNMEASURED}; it was 35 at the end of the week before."),
        (None, None, f"{UNMEASURED}; it was not measured the week before either."),
    ],
)
def test_given_two_scores_when_summed_up_then_the_sentence_compares_them(
    current: int | None, prior: int | None, words: str
) -> None:
    score = WeeklyScore(current=current, prior=prior, band=Band.REVIEW, n=5)
    report = an_empty_week(program_score=score, kris=(a_kri("hold_share", "ok", "ok"),))

    assert words_of(report)[0] == f"{OPENING} The Program Risk Score {words}"
    assert words_of(report)[1].endswith("No status changed during the week.")


def test_given_indicators_that_nobody_measured_before_when_summed_up_then_no_change_is_claimed() -> None:
    new = a_kri("hold_share", "breach", "unmeasured", prior=None)
    kris = (new, a_kri("freeze_events", "unmeasured", "unmeasured", value=None, prior=None))

    assert words_of(an_empty_week(kris=kris))[1] == (
        "Of 2 key risk indicators, 1 was measured: 1 in breach (hold share), 0 at watch, 0 ok. None was measured "
        "before this week, so there is no change of status to report."
    )


def test_given_many_changes_of_status_when_summed_up_then_the_first_five_are_named() -> None:
    kris = tuple(a_kri(f"kri_{number}", "ok", "watch") for number in range(7))

    assert words_of(an_empty_week(kris=kris))[1].endswith("kri 4 from watch to ok and 2 others.")


def test_given_the_current_week_when_summed_up_then_it_says_until_when() -> None:
    report = an_empty_week(generated_at="2026-09-10T12:00:00.000Z")

    assert words_of(report, now=WEEK.end - 1)[0].startswith(
        f"{OPENING} It is not over: all figures are as of 2026-09-10T12:00:00.000Z. "
    )


def test_given_any_week_when_summed_up_then_nothing_hints_at_a_report_to_an_authority() -> None:
    words = " ".join(words_of(an_empty_week())).lower()

    assert not [word for word in ("sar", "suspicious", "fincen", "filed", "authorit") if word in words.split()]
    assert "Example Payroll" not in words  # ids only, never names
