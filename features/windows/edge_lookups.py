"""Indexes over the edges of a node, built when first needed: few nodes have them, and no dump."""

from clearhold.features.windows.recency import Recency, week_of
from clearhold.features.windows.series import ALWAYS


class EdgeLookups:
    __slots__ = ("firsts", "recency", "usual", "usual_since", "week_counts")

    def __init__(self) -> None:
        self.recency: Recency | None = None
        self.firsts: dict[int, int] | None = None  # of each other side the first instant
        self.usual: int | None = None  # of the week that begins at ``usual_since``
        self.usual_since = ALWAYS
        self.week_counts: dict[int, int] | None = None  # distinct parties of the completed weeks of a busy node

    def add(self, at: int, other: int) -> None:
        """An edge came."""
        if self.recency is not None:
            self.recency.add(at, other)
        if self.firsts is not None and at < self.firsts.get(other, at + 1):
            self.firsts[other] = at
        self._forget_week(at)

    def remove(self, at: int, other: int) -> None:
        """An edge went."""
        if self.firsts is not None and self.firsts.get(other) == at:
            self.firsts = None
        if self.recency is not None and self.recency.newest(other) == at:
            self.recency = None
        self._forget_week(at)

    def _forget_week(self, at: int) -> None:
        """An edge of a completed week was added or removed."""
        if at < self.usual_since:
            self.usual_since = ALWAYS
        if self.week_counts is not None:
            self.week_counts.pop(week_of(at), None)
