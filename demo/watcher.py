"""Reads the transfers back from the service: bands, hold-band reasons, and the delay until a score can be read."""

import time
from collections import deque
from collections.abc import Callable
from datetime import datetime
from threading import Event, Thread
from typing import Any, Final

from clearhold.client.answers import RefusedError, UnreachableError
from clearhold.client.client import ClearholdClient
from clearhold.demo.board import Board
from clearhold.demo.service import DemoError
from clearhold.demo.stage import Access
from clearhold.features.core.instants import format_instant

POLL_S: Final = 1.0
PAGE: Final = "100"
MAX_PAGES: Final = 200
OVERLAP_US: Final = 120_000_000
PROBE_POLL_S: Final = 0.004
PROBE_FOR_S: Final = 5.0
MAX_PROBES: Final = 64
CAUGHT_UP_WITHIN_S: Final = 120.0
NOT_FOUND: Final = 404


class Watcher:
    """Two threads: one reads all transfers at intervals, one follows single new transfers."""

    def __init__(self, client: ClearholdClient, board: Board, programs: dict[str, Access]) -> None:
        self._client, self._board, self._programs = client, board, programs
        self._probes: deque[tuple[str, str, float]] = deque(maxlen=MAX_PROBES)
        self._seen_to: dict[str, str | None] = dict.fromkeys(programs)
        self._done = Event()
        self._threads = [
            Thread(target=self._guarded, args=(keep,)) for keep in (self._keep_looking, self._keep_probing)
        ]
        self._trouble: str | None = None

    def await_scores(self, transfer_ids: dict[str, str], *, check: Callable[[], None]) -> None:
        """Wait until these transfers, and with them all earlier ones of their programs, can be read."""
        deadline = time.monotonic() + CAUGHT_UP_WITHIN_S
        for program, transfer_id in transfer_ids.items():
            while not self._is_scored(program, transfer_id):
                check()
                if time.monotonic() > deadline:
                    raise DemoError(f"Transfers were not scored within {CAUGHT_UP_WITHIN_S:.0f} s.")
                time.sleep(PROBE_POLL_S)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop after a last read."""
        self._done.set()
        for thread in self._threads:
            thread.join()

    def require_well(self) -> None:
        if self._trouble is not None:
            raise DemoError(self._trouble)

    def probe(self, program: str, transfer_id: str, posted_at: float) -> None:
        """Measure the time from ``posted_at`` (``time.perf_counter``) until this transfer's score can be read."""
        self._probes.append((program, transfer_id, posted_at))

    def _keep_looking(self) -> None:
        while not self._done.is_set():
            self._look()
            self._done.wait(POLL_S)
        self._look()

    def _keep_probing(self) -> None:
        while not self._done.is_set() or self._probes:
            if self._probes:
                self._measure(*self._probes.popleft())
            else:
                self._done.wait(PROBE_POLL_S)

    def _guarded(self, keep: Callable[[], None]) -> None:
        try:
            keep()
        except (RefusedError, UnreachableError) as error:
            self._trouble = f"Scores could not be read back: {error}"
            self._done.set()

    def _look(self) -> None:
        for program, access in self._programs.items():
            query = {"programId": access.program_id, "limit": PAGE}
            since = self._seen_to[program]
            if since is not None:
                query["from"] = since
            newest = None
            for _ in range(MAX_PAGES):
                page = self._client.transfers(**query)
                for transfer in page["data"]:
                    newest = max(newest or "", transfer["bankCreatedAt"])
                    self._book(program, access, transfer)
                if not page["hasMore"]:
                    break
                query["cursor"] = page["nextCursor"]
            if newest is not None:
                self._seen_to[program] = _a_little_before(newest)

    def _book(self, program: str, access: Access, transfer: dict[str, Any]) -> None:
        self._board.saw(program, transfer)
        if self._board.is_new_hold(transfer):
            self._board.hold(program, self._client.transfer(transfer["id"], program_id=access.program_id))

    def _measure(self, program: str, transfer_id: str, posted_at: float) -> None:
        while time.perf_counter() - posted_at < PROBE_FOR_S:
            if self._is_scored(program, transfer_id):
                self._board.scored_after(1_000 * (time.perf_counter() - posted_at))
                return
            time.sleep(PROBE_POLL_S)

    def _is_scored(self, program: str, transfer_id: str) -> bool:
        try:
            transfer = self._client.transfer(transfer_id, program_id=self._programs[program].program_id)
        except RefusedError as error:
            if error.status == NOT_FOUND:
                return False
            raise
        return transfer.get("scoreBand") is not None


def _a_little_before(text: str) -> str:
    """Late and rescored transfers are read again, too."""
    at = datetime.fromisoformat(text)
    return format_instant(int(at.timestamp() * 1_000_000) - OVERLAP_US)
