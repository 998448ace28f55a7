"""Counters of webhooks since the start."""

from collections import Counter


class WebhookCounts:
    """The committer's thread changes ``events_lost``, the event loop all others."""

    def __init__(self) -> None:
        self.attempts: Counter[str] = Counter()  # by result: delivered, or an AttemptError
        self.events_lost = 0
        self.waiting = 0
        self.in_flight = 0
        self.due_since: int | None = None  # when the oldest due delivery became due, or None
        self.exhausted = 0
        self.disabled: Counter[str] = Counter()  # endpoints, by reason
