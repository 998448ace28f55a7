"""A span of time that tables are read over."""

from typing import NamedTuple


class Span(NamedTuple):
    """A half-open span of time, microseconds since the epoch."""

    start: int
    end: int

    @property
    def before(self) -> "Span":
        """The span of equal length that ends where this one starts."""
        return Span(2 * self.start - self.end, self.start)
