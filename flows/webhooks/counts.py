"""Counters of webhooks since the start."""

from collections import Counter


class WebhookCounts:
    """``events_lost`` is the committer's thread's, the others are the event loop's."""

    def __init__(self) -> None:
        self.attempts: Counter[str] = Counter()  # by result: delivered, or an AttemptError
        self.events_lost = 0
        self.waiting = 0
        self.in_flight = 0
        self.due_since: int | None = None  # the instant at which the delivery that waits longest was due; None: none is
        self.exhausted = 0
        self.disabled: Counter[str] = Counter()  # endpoints, by reason
