"""Counters of the execution of actions since the start, changed by the event loop alone."""

from collections import Counter


class ActionCounts:
    def __init__(self) -> None:
        self.executions: Counter[tuple[str, str]] = Counter()  # by type and result
        self.requests: Counter[str] = Counter()  # to the bank, by verdict
        self.unrecorded = 0
        self.waiting = 0
        self.unknown = 0
