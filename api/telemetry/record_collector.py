"""Metrics of the record and of its disk, for Prometheus, read from their sources at each scrape.

Unit    seconds and bytes
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.api.http.connections import Connections
from clearhold.features.core.instants import SECOND_US
from clearhold.store.clock import Clock
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from clearhold.store.record.reading import LastVerifications


class RecordCollector(Collector):
    """``links`` counts the links of each chain; ``folder`` is the data directory."""

    def __init__(
        self,
        *,
        links: Callable[[], Mapping[str, int]],
        checkpoint_log: CheckpointLog,
        checkpoints: RecordCheckpoints,
        verifications: LastVerifications,
        folder: Path,
        clock: Clock,
    ) -> None:
        self._links, self._checkpoint_log, self._checkpoints = links, checkpoint_log, checkpoints
        self._verifications, self._folder, self._clock = verifications, folder, clock

    def collect(self) -> Iterator[Metric]:
        links = CounterMetricFamily("clearhold_record_links", "Links written to the hash chains.", labels=("chain",))
        for chain, size in self._links().items():
            links.add_metric([chain], size)
        yield links
        signed = GaugeMetricFamily(
            "clearhold_record_checkpoint_age_seconds", "Age of the newest signed checkpoint.", labels=("chain",)
        )
        for name, created_at in dict(self._checkpoint_log.newest).items():  # Another thread writes to it.
            signed.add_metric([name], self._age_s(created_at))
        yield signed
        yield GaugeMetricFamily(
            "clearhold_record_inconsistent_chains",
            "Chains that contradict a signed checkpoint.",
            value=self._checkpoints.inconsistent,
        )
        yield from self._verified()
        yield from self._disk()

    def _verified(self) -> Iterator[Metric]:
        age = GaugeMetricFamily(
            "clearhold_record_verification_age_seconds", "Time since the record was last verified.", labels=("tenant",)
        )
        ok = GaugeMetricFamily(
            "clearhold_record_verification_ok",
            "1 when the last verification found nothing, else 0.",
            labels=("tenant",),
        )
        for tenant, last in dict(self._verifications.by_tenant).items():  # Another thread writes to it.
            age.add_metric([tenant], self._age_s(last.at))
            ok.add_metric([tenant], last.ok)
        yield age
        yield ok

    def _disk(self) -> Iterator[Metric]:
        disk = shutil.disk_usage(self._folder)
        yield GaugeMetricFamily(
            "clearhold_disk_free_bytes", "Free space of the data directory's file system.", value=disk.free
        )
        yield GaugeMetricFamily("clearhold_disk_size_bytes", "Size of that file system.", value=disk.total)

    def _age_s(self, at: int) -> float:
        return max(0, self._clock.now() - at) / SECOND_US


class ConnectionCollector(Collector):
    """Reads the counts at each scrape."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def collect(self) -> Iterator[Metric]:
        connections = self._connections
        yield GaugeMetricFamily("clearhold_http_connections", "Open connections.", value=connections.open)
        yield CounterMetricFamily(
            "clearhold_http_connections_refused", "Connections refused for want of room.", value=connections.refused
        )
