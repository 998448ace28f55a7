"""The stories of the detectors as the bank sends them: each opens the alert that it opens with entities named."""

from typing import Any, Final

import pytest

from clearhold.features.core.rows.events import QuarantineRow
from tests.checks.detector_case import ACCOUNT, ENTITY, DetectorCase
from tests.checks.detector_cases import CASES
from tests.support.alert_rows import grade_of
from tests.support.bank_shaped import BankShapedStory

NEEDS_OBJECTS: Final = frozenset({"counterparty_shared"})
"""Told of with a counterparty's object, which the bank does not send; ``test_bank_feed.py`` has its story."""
NEEDS_OWNERS: Final = frozenset({"kyc_denied_moving", "kyc_unverified_moving", "screening_stale_or_hit", "decided"})
"""Detectors and cases about what is known of an owner, which is known once the bank says who owns the account."""


def cases(without: frozenset[str] = frozenset()) -> list[Any]:
    return [
        pytest.param(detector, case, id=f"{detector}-{name}")
        for detector, of_detector in CASES.items()
        for name, case in of_detector.items()
        if not {detector, name} & (NEEDS_OBJECTS | without)
    ]


@pytest.mark.parametrize(("detector", "case"), cases())
@pytest.mark.parametrize("hit", [True, False])
def test_given_accounts_with_owners_when_a_story_is_told_then_its_alert_opens_at_the_line_and_not_before(
    detector: str, case: DetectorCase, *, hit: bool
) -> None:
    story = BankShapedStory(owners_from=0, **case.declared)

    case.play(story, hit=hit)

    opened = story.alerts(detector)
    assert tuple(alert.subject_type for alert in opened) == (case.subjects if hit else ())
    assert {grade_of(alert) for alert in opened} == ({case.gravity} if hit else set())
    assert not story.all(QuarantineRow)


@pytest.mark.parametrize(("detector", "case"), cases(NEEDS_OWNERS))
@pytest.mark.parametrize("hit", [True, False])
def test_given_accounts_without_owners_when_a_story_is_told_then_its_alert_is_on_the_account(
    detector: str, case: DetectorCase, *, hit: bool
) -> None:
    story = BankShapedStory(owners_from=None, **case.declared)

    case.play(story, hit=hit)

    subjects = tuple(ACCOUNT if subject == ENTITY else subject for subject in case.subjects)
    opened = story.alerts(detector)
    assert tuple(alert.subject_type for alert in opened) == (subjects if hit else ())
    assert {grade_of(alert) for alert in opened} == ({case.gravity} if hit else set())
    assert not story.all(QuarantineRow)


@pytest.mark.parametrize(("detector", "case"), [each for each in cases() if each.values[1].subjects == (ENTITY,)])
def test_given_owners_told_before_the_last_payment_then_the_alert_is_on_the_owner_with_all_that_came_before(
    detector: str, case: DetectorCase
) -> None:
    rehearsal = BankShapedStory(owners_from=None, **case.declared)
    case.play(rehearsal, hit=True)
    story = BankShapedStory(owners_from=rehearsal.payments - 1, **case.declared)

    case.play(story, hit=True)

    newest = story.alerts(detector)[-1]  # one that the account has from before stays the account's
    assert (newest.subject_type, newest.subject_id[:5], grade_of(newest)) == (ENTITY, "enti_", case.gravity)
