"""Metrics for Prometheus: programs by their newest snapshots, the record and its disk, connections; and the port.

The port serves ``GET /metrics`` alone, on a separate thread. It is meant for this machine or an internal network: no
TLS, no credentials. It answers one request at a time, within a few seconds, outside the event loop of the interface.

Unit    as each indicator's label ``unit`` says; scores 0-100; ages in seconds, sizes in bytes
Errors  none; while the database does not answer, the metrics show the last snapshots, whose age grows

An indicator without a value has no series, and never shows as 0; a rate of too few observations has no status.
Labels are slugs.
"""

import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any, Final, NamedTuple

import duckdb
import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.api.http.limits import Connections
from clearhold.api.http.server import address_of, listening_socket
from clearhold.features.catalogue.kris import KriStatus
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.vocabulary import ProgramSource
from clearhold.store.clock import Clock
from clearhold.store.duck.reports.scores import NewestSnapshot, NewestSnapshots
from clearhold.store.errors import StartupError
from clearhold.store.lake.log_segments import ControlCopy
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from clearhold.store.record.reading import LastVerifications
from clearhold.store.redis_log.reader import LogReader

KEPT_S: Final = 1.0
MOST_PROGRAMS: Final = 500
"""At this number: some 38,000 series, 5 MB a scrape."""

_OF_PROGRAM: Final = ("tenant", "program", "source")
_OF_INDICATOR: Final = (*_OF_PROGRAM, "kri", "unit")
_STATUS_NUMBERS: Final = {KriStatus.OK: 0, KriStatus.WATCH: 1, KriStatus.BREACH: 2}

log = structlog.get_logger()


class ProgramName(NamedTuple):
    """A program's name in labels."""

    tenant: str
    program: str
    source: ProgramSource


class _Program(NamedTuple):
    name: ProgramName
    snapshot: NewestSnapshot


class ProgramCollector(Collector):
    """Shows at most ``most`` programs; ``name_of`` is None for a program that no longer exists. For one thread."""

    def __init__(
        self,
        snapshots: NewestSnapshots,
        *,
        name_of: Callable[[str], ProgramName | None],
        most: int,
        clock: Clock,
    ) -> None:
        self._snapshots, self._name_of, self._most, self._clock = snapshots, name_of, most, clock
        self._read_at = -KEPT_S
        self._latest: Mapping[str, NewestSnapshot] = {}

    def collect(self) -> Iterator[Metric]:
        candidates = self._candidates()
        programs = candidates[: self._most]
        yield GaugeMetricFamily(
            "clearhold_program_metrics_left_out",
            "Programs with a snapshot that are beyond the number of programs shown.",
            value=len(candidates) - len(programs),
        )
        yield from self._scores(programs)
        yield from _indicators(programs)

    def _candidates(self) -> list[_Program]:
        """Programs of the bank before simulated ones, higher scores first, and then by slug."""
        named = ((self._name_of(program_id), snapshot) for program_id, snapshot in self._newest().items())
        programs = [_Program(name, snapshot) for name, snapshot in named if name is not None]
        return sorted(
            programs,
            key=lambda each: (
                each.name.source is ProgramSource.SIMULATED,
                1 if each.snapshot.score is None else -each.snapshot.score,
                each.name,
            ),
        )

    def _newest(self) -> Mapping[str, NewestSnapshot]:
        """The last read, cached for a moment."""
        now = monotonic()
        if now - self._read_at >= KEPT_S:
            self._read_at = now
            try:
                self._latest = self._snapshots.by_program()
            except duckdb.Error as error:
                log.warning("program_metrics_not_read", error=repr(error))
        return self._latest

    def _scores(self, programs: list[_Program]) -> Iterator[Metric]:
        score = GaugeMetricFamily("clearhold_program_score", "Program Risk Score, 0-100.", labels=_OF_PROGRAM)
        n = GaugeMetricFamily(
            "clearhold_program_score_n", "Indicators that were measured for the score.", labels=_OF_PROGRAM
        )
        age = GaugeMetricFamily(
            "clearhold_program_snapshot_age", "Age of the newest snapshot.", labels=_OF_PROGRAM, unit="seconds"
        )
        now = self._clock.now()
        for name, snapshot in programs:
            if snapshot.score is not None:
                score.add_metric(name, snapshot.score)
            n.add_metric(name, snapshot.score_n)
            age.add_metric(name, max(0, now - snapshot.as_of_at) / SECOND_US)
        yield from (score, n, age)


def _indicators(programs: list[_Program]) -> Iterator[Metric]:
    value, threshold, status, n = (
        GaugeMetricFamily(f"clearhold_program_kri_{name}", about, labels=_OF_INDICATOR)
        for name, about in (
            ("value", "Key risk indicator as measured."),
            ("threshold", "The line of its breach."),
            ("status", "0 ok, 1 watch, 2 breach."),
            ("n", "Observations that it is made of."),
        )
    )
    for name, snapshot in programs:
        for kri, reading in snapshot.kris.items():
            if reading.value is None:
                continue
            labels = (*name, kri, reading.unit)
            value.add_metric(labels, reading.value)
            n.add_metric(labels, reading.n)
            if reading.threshold is not None:
                threshold.add_metric(labels, reading.threshold)
            if reading.status in _STATUS_NUMBERS:
                status.add_metric(labels, _STATUS_NUMBERS[reading.status])
    yield from (value, threshold, status, n)


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


class ControlCollector(Collector):
    """Entries of control streams with which somebody tampered in Redis."""

    def __init__(self, reader: LogReader, control_copy: ControlCopy) -> None:
        self._reader, self._control_copy = reader, control_copy

    def collect(self) -> Iterator[Metric]:
        tampered = CounterMetricFamily(
            "clearhold_control_entries_tampered",
            "Entries of control streams that were forged in Redis, or removed from it.",
            labels=("fault",),
        )
        tampered.add_metric(["forged"], len(self._reader.forged_control))
        tampered.add_metric(["removed"], self._control_copy.removed)
        yield tampered


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


PATH: Final = "/metrics"
USUAL_PORT: Final = 9464
_ANSWER_WITHIN_S: Final = 5
_STOP_POLL_S: Final = 0.1


@contextmanager
def metrics_socket(host: str, port: int | None) -> Iterator[socket.socket | None]:
    """The socket for the named port, or for the default one, without which the service also starts.

    Raises StartupError when the named port is not available.
    """
    try:
        listening = listening_socket(host, USUAL_PORT if port is None else port, option="--metrics-port")
    except StartupError as error:
        if port is not None:
            raise
        log.warning("metrics_off", reason=str(error))
        yield None
        return
    with closing(listening):
        yield listening


@contextmanager
def metrics_served(listening: socket.socket | None, registry: CollectorRegistry) -> Iterator[None]:
    """Answer on the socket until the end of the block."""
    if listening is None:
        yield
        return
    log.info("metrics_on", address=address_of(listening) + PATH)
    server = _Server(listening, registry)
    thread = Thread(target=server.serve_forever, args=(_STOP_POLL_S,), name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join(_ANSWER_WITHIN_S)


class _Server(HTTPServer):
    def __init__(self, listening: socket.socket, registry: CollectorRegistry) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.registry = registry

    def handle_error(self, _request: Any, _client_address: Any) -> None:
        log.warning("metrics_not_given", error=repr(sys.exc_info()[1]))


class _Handler(BaseHTTPRequestHandler):
    timeout = _ANSWER_WITHIN_S
    server: _Server

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != PATH:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"This port serves /metrics only.\n")
            return
        encode, content_type = choose_encoder(self.headers.get("Accept", ""))
        self._answer(HTTPStatus.OK, content_type, encode(self.server.registry))

    def _answer(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Drop the base class's own lines on standard error."""

    def version_string(self) -> str:
        return "clearhold"
