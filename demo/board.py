"""The figures of a run. One thread writes events and pre-flights, another the scores it reads back."""

import math
from collections import Counter, deque
from threading import Lock
from typing import Any, Final

import msgspec

KEPT_SAMPLES: Final = 5_000
KEPT_HOLDS: Final = 8


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """A transfer in the hold band, with why."""

    program: str
    transfer_id: str
    score: int
    cents: str
    story: str
    why: tuple[str, ...]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The board's figures at one moment."""

    sent: int
    accepted: int
    duplicates: int
    bands: dict[str, dict[str, int]]
    decisions: dict[str, int]
    preflight_ms: tuple[float | None, float | None]
    scored_ms: tuple[float | None, float | None]
    holds: tuple[Hold, ...]


class Board:
    """Counts; safe to use from several threads."""

    def __init__(self, programs: tuple[str, ...]) -> None:
        self._lock = Lock()
        self._programs = programs
        self._accepted = self._duplicates = 0
        self._bands: dict[str, tuple[str, str]] = {}
        self._stories: dict[str, str] = {}
        self._decisions: Counter[str] = Counter()
        self._preflight_ms: deque[float] = deque(maxlen=KEPT_SAMPLES)
        self._scored_ms: deque[float] = deque(maxlen=KEPT_SAMPLES)
        self._holds: dict[str, Hold] = {}

    def posted(self, *, duplicate: bool, events: int = 1) -> None:
        with self._lock:
            if duplicate:
                self._duplicates += events
            else:
                self._accepted += events

    def story(self, transfer_id: str, story: str) -> None:
        with self._lock:
            self._stories[transfer_id] = story

    def asked(self, decision: str, latency_ms: float) -> None:
        with self._lock:
            self._decisions[decision] += 1
            self._preflight_ms.append(latency_ms)

    def scored_after(self, latency_ms: float) -> None:
        with self._lock:
            self._scored_ms.append(latency_ms)

    def saw(self, program: str, transfer: dict[str, Any]) -> None:
        """Count a transfer in its present state."""
        band = transfer.get("scoreBand")
        with self._lock:
            self._bands[transfer["id"]] = (program, band or "not yet")

    def is_new_hold(self, transfer: dict[str, Any]) -> bool:
        with self._lock:
            return transfer.get("scoreBand") == "hold" and transfer["id"] not in self._holds

    def hold(self, program: str, transfer: dict[str, Any]) -> None:
        """Keep a hold-band transfer with its reasons."""
        with self._lock:
            self._holds[transfer["id"]] = Hold(
                program=program,
                transfer_id=transfer["id"],
                score=transfer.get("score") or 0,
                cents=transfer["amountCents"],
                story=self._stories.get(transfer["id"], ""),
                why=reasons_in(transfer),
            )

    def figures(self) -> Figures:
        with self._lock:
            bands: dict[str, Counter[str]] = {program: Counter() for program in self._programs}
            for program, band in self._bands.values():
                bands[program][band] += 1
            return Figures(
                sent=self._accepted + self._duplicates,
                accepted=self._accepted,
                duplicates=self._duplicates,
                bands={program: dict(counts) for program, counts in bands.items()},
                decisions=dict(self._decisions),
                preflight_ms=(percentile(self._preflight_ms, 50), percentile(self._preflight_ms, 99)),
                scored_ms=(percentile(self._scored_ms, 50), percentile(self._scored_ms, 99)),
                holds=tuple(self._holds.values())[-KEPT_HOLDS:],
            )


def percentile(samples: deque[float], percent: int) -> float | None:
    """Nearest rank; None when nothing was measured."""
    if not samples:
        return None
    return sorted(samples)[math.ceil(len(samples) * percent / 100) - 1]


def reasons_in(transfer: dict[str, Any]) -> tuple[str, ...]:
    """The reasons' sentences, wherever the answer has them."""
    inputs = transfer.get("scoreInputs")
    reasons = transfer.get("reasons") or (inputs.get("reasons") if isinstance(inputs, dict) else None) or ()
    return tuple(str(reason.get("sentence") or reason.get("signal")) for reason in reasons)
