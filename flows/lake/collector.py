"""Metrics of the lake for analysts, for Prometheus, read from the list of parts at each scrape.

Unit    seconds and bytes; labels are names of tables
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.instants import SECOND_US
from clearhold.flows.lake.copying import LakeCopying
from clearhold.flows.running.counts import counter, gauge
from clearhold.store.analysts.parts import PartList
from clearhold.store.analysts.retention import due_parts, parts_to_remove
from clearhold.store.clock import Clock


class LakeCollector(Collector):
    """The lake has no age before its first round."""

    def __init__(self, lake: LakeCopying, clock: Clock) -> None:
        self._lake, self._clock = lake, clock

    def collect(self) -> Iterator[Metric]:
        counts, listed, now = self._lake.counts, self._lake.writer.parts, self._clock.now()
        behind = max(0, now - listed.as_of) / SECOND_US if listed.as_of else None
        newest = "Age of the newest state of the tables that is complete in the lake."
        yield gauge("clearhold_lake_behind_seconds", newest, behind)
        parts, size, rows = Counter[str](), Counter[str](), Counter[str]()
        for part in listed.counting_at(now):
            parts[part.table_name] += 1
            size[part.table_name] += part.bytes
            rows[part.table_name] += part.rows
        yield _by_table("clearhold_lake_parts", "Files of the lake that count.", parts)
        yield _by_table("clearhold_lake_bytes", "Bytes of those.", size)
        yield _by_table("clearhold_lake_rows", "Rows in those.", rows)
        yield from _of_retention(listed, now)
        yield gauge("clearhold_lake_round_seconds", "Duration of the last round of copying.", counts.round_seconds)
        yield counter("clearhold_lake_copied_rows", "Rows copied into the lake.", counts.rows)
        yield counter("clearhold_lake_merges", "Merges of parts.", counts.merges)
        yield counter("clearhold_lake_failures", "Rounds that failed and were tried again.", counts.failures)


def _of_retention(listed: PartList, now: int) -> Iterator[Metric]:
    due, unremoved = Counter[str](), Counter[str]()
    for part in due_parts(listed, now):
        due[part.table_name] += part.rows
    for part in parts_to_remove(listed, now):
        unremoved[part.table_name] += part.bytes
    ended = {table: each.rows for table, each in listed.ended.items()}
    yield _by_table(
        "clearhold_lake_retention_days", "Days for which a table is kept; absent when for good.", listed.retention_days
    )
    yield _by_table("clearhold_lake_ended_rows", "Rows that retention has taken out.", ended)
    yield _by_table("clearhold_lake_due_rows", "Rows of days that are over and still count.", due)
    yield _by_table("clearhold_lake_unremoved_bytes", "Bytes of ended days whose files wait for readers.", unremoved)


def _by_table(name: str, about: str, values: Mapping[str, float]) -> Metric:
    return gauge(name, about, dict(sorted(values.items())), "table")
