"""Programs with a history: one long enough for a policy to close alerts alone, and alerts in each of their statuses."""

from typing import Final

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.rows.alerts import AlertRow
from tests.support.alert_rows import a_decision
from tests.support.stories import ShardStory, detector_story

NOON: Final = 80 * DAY_US


def warmed_program() -> ShardStory:
    """210 quiet wires of one verified entity with one counterparty, nine hours apart, none like its neighbours."""
    story = detector_story().introduce("enti_1")
    for place in range(210):
        story.wire("enti_1", "cpty_1", 100_00 + place % 20 * 20_00, place * 9 * HOUR_US)
    return story


def denied_entity() -> ShardStory:
    """An open alert of detector kyc_denied_moving, opened at one hour."""
    story = detector_story().introduce("enti_1", verification_status="DENIED")
    story.wire("enti_1", "cpty_1", 10_00, HOUR_US)
    return story


def auto_closed_alert() -> tuple[ShardStory, AlertRow]:
    """An alert closed by the policy."""
    story = warmed_program()
    for place in range(6):
        story.wire("enti_1", "cpty_1", 250_00, NOON + place * HOUR_US)
    return story, story.alert("repeated_amount")


def alert_with_status(status: str) -> tuple[ShardStory, AlertRow, int]:
    """An alert, and a time after T0 at which it has the status."""
    if status == "auto_closed":
        return *auto_closed_alert(), NOON + 7 * HOUR_US
    story = denied_entity()
    decisions = {"held": "hold", "escalated": "escalate", "closed": "close"}
    if status in decisions:
        story.submit(a_decision(story.alert("kyc_denied_moving"), decisions[status], 2 * HOUR_US))
    return story, story.alert("kyc_denied_moving"), 3 * HOUR_US
