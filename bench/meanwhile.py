"""What else a service did while it was measured, so that a tail can be explained: commits, snapshots, the disk's fsync.

Commits are from its metrics, snapshots from its log. The disk is probed by a thread, so rarely that it adds no load.
"""

import os
import time
from datetime import UTC, datetime
from io import RawIOBase
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Final, Self

from bench.harness import Figure, percentile
from bench.service import Service

PROBE_EVERY_S: Final = 0.05
PROBE_BYTES: Final = 814
_COMMITS: Final = "clearhold_flow_commit_duration_seconds"
_LAGS: Final = "clearhold_ingest_lag_seconds"


class Meanwhile:
    """Counts from entering to leaving."""

    def __init__(self, service: Service, probed: Path) -> None:
        self._service, self._probed = service, probed
        self._fsyncs_ms: list[float] = []
        self._stopped = Event()
        probing = (self._probed, self._stopped, self._fsyncs_ms)
        self._thread = Thread(target=probe_until, args=probing, name="fsync-probe", daemon=True)

    def __enter__(self) -> Self:
        self._began_at, self._before = datetime.now(UTC), self._samples()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopped.set()
        self._thread.join()
        after = self._samples()
        self._commits, self._lags = (
            {name: value - before.get(name, 0) for name, value in samples.items()}
            for samples, before in zip(after, self._before, strict=True)
        )
        self._snapshots = [
            line
            for line in self._service.logged("snapshots_written")
            if datetime.fromisoformat(line["timestamp"]) >= self._began_at
        ]

    def figures(self) -> list[Figure]:
        return figures_of(self._commits, self._lags, self._snapshots, sorted(self._fsyncs_ms))

    def _samples(self) -> tuple[dict[str, float], dict[str, float]]:
        return self._service.metric(_COMMITS), self._service.metric(_LAGS)


def probe_until(path: Path, stopped: Event, taken_ms: list[float]) -> None:
    """Milliseconds of an fsync every now and then, until it is stopped."""
    with path.open("ab", buffering=0) as file:
        while not stopped.wait(PROBE_EVERY_S):
            taken_ms.append(fsync_ms(file, PROBE_BYTES))


def fsync_ms(file: RawIOBase, size: int) -> float:
    """Milliseconds to append ``size`` bytes and have them on disk."""
    began = time.perf_counter()
    file.write(bytes(size))
    os.fsync(file.fileno())
    return 1_000 * (time.perf_counter() - began)


def figures_of(
    commits: dict[str, float], lags: dict[str, float], snapshots: list[dict[str, Any]], fsyncs_ms: list[float]
) -> list[Figure]:
    """``commits`` and ``lags`` are the samples of a histogram: ``_count``, ``_sum``, and ``_bucket`` with its upper
    bound behind.
    """
    stalls = [line["stall_ms"] for line in snapshots]
    return [
        Figure(
            name="meanwhile, commits",
            value=commits["_count"],
            unit="",
            note=_of_histogram(commits),
        ),
        Figure(
            name="meanwhile, batches from append to commit",
            value=lags["_count"],
            unit="",
            note=_of_histogram(lags),
        ),
        Figure(
            name="meanwhile, snapshots",
            value=len(stalls),
            unit="",
            note=f"longest stall of a scorer {max(stalls):.1f} ms" if stalls else "",
        ),
        Figure(
            name="meanwhile, the disk's fsync, p50",
            value=percentile(fsyncs_ms, 0.5) if fsyncs_ms else None,
            unit="ms",
            beside=f"p99 {percentile(fsyncs_ms, 0.99):.2f} ms of {len(fsyncs_ms)}" if fsyncs_ms else "",
        ),
    ]


def _of_histogram(samples: dict[str, float]) -> str:
    count = samples["_count"]
    bounds = sorted(
        float(name.removeprefix("_bucket"))
        for name, value in samples.items()
        if name.startswith("_bucket") and value >= count
    )
    return f"mean {1e3 * samples['_sum'] / count:.0f} ms, all within {1e3 * bounds[0]:,.0f} ms" if count else ""
