"""Counters since the start, and those of the flow.

Each counter is changed by one thread, once per batch; readers take the value without a lock.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, product
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

BATCH_ENTRIES_BOUNDS: Final = (1, 4, 16, 64, 256, 1_024, 4_096, 16_384)
COMMIT_SECONDS_BOUNDS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
LAG_SECONDS_BOUNDS: Final = (0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600)


class Distribution:
    """Values counted by range. ``bounds`` are inclusive upper bounds; one more range counts all larger values."""

    __slots__ = ("_counts", "_sum", "bounds")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self.bounds, value)] += 1
        self._sum += value

    def read(self) -> tuple[list[int], float]:
        """The number of values in each range, and the sum of all."""
        return self._counts.copy(), self._sum


Values = float | None | Mapping[str, float] | Mapping[tuple[str, str], float]
"""A value or None, or a value for each label, or pair of labels. Another thread may write to it."""


def zeros(*labels: Iterable[str]) -> Counter[Any]:
    """Counts by one or two labels, from 0 for each value: a rule sees no increase of a series that begins above."""
    return Counter(dict.fromkeys(labels[0] if len(labels) == 1 else product(*labels), 0))


def counter(name: str, meaning: str, values: Values, *labels: str) -> Metric:
    return _filled(CounterMetricFamily(name, meaning, labels=labels), values)


def gauge(name: str, meaning: str, values: Values, *labels: str) -> Metric:
    return _filled(GaugeMetricFamily(name, meaning, labels=labels), values)


def _filled(family: CounterMetricFamily | GaugeMetricFamily, values: Values) -> Metric:
    if isinstance(values, Mapping):
        for labels, value in dict(values).items():
            family.add_metric([labels] if isinstance(labels, str) else labels, value)
    elif values is not None:
        family.add_metric([], values)
    return family


def histogram(name: str, meaning: str, values: Distribution) -> Metric:
    counts, total = values.read()
    bounds = [*(str(float(bound)) for bound in values.bounds), "+Inf"]
    return HistogramMetricFamily(
        name, meaning, buckets=list(zip(bounds, accumulate(counts), strict=True)), sum_value=total
    )


class FlowCounts:
    """Changed by the committer's thread."""

    def __init__(self) -> None:
        self.batch_entries = Distribution(BATCH_ENTRIES_BOUNDS)
        self.commit_seconds = Distribution(COMMIT_SECONDS_BOUNDS)
        self.lag_seconds = Distribution(LAG_SECONDS_BOUNDS)
        self.quarantined = 0
        self.events: Counter[str] = Counter()  # by result
        self.commit_failures = 0
