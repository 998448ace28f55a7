"""Metrics of the server's connections."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.api.http.connections import Connections


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
