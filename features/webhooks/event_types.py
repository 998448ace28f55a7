"""The events that a bank's endpoints receive, by the name in registrations and deliveries."""

from enum import StrEnum
from typing import Final


class EventType(StrEnum):
    """``ping`` is sent on request alone, and never subscribed to."""

    ALERT_OPENED = "alert.opened"
    DISPOSITION_SIGNED = "disposition.signed"
    ACTION_CREATED = "action.created"
    ACTION_APPROVED = "action.approved"
    PREFLIGHT_SCORED = "preflight.scored"
    TRANSFER_SCORED = "transfer.scored"
    LABEL_RECORDED = "label.recorded"
    KRI_SNAPSHOT = "kri.snapshot"
    PING = "ping"


SUBSCRIBABLE: Final = tuple(each for each in EventType if each is not EventType.PING)
