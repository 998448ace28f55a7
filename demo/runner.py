"""Moves the money: the months of history as fast as the service takes them, then one transfer after another."""

import heapq
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Final

from clearhold.client.answers import RefusedError, UnreachableError
from clearhold.client.client import ClearholdClient
from clearhold.client.event_replay import Target
from clearhold.demo.bank import HISTORY_DAYS, SimulatedBank
from clearhold.demo.board import Board
from clearhold.demo.clock import now_us
from clearhold.demo.directory import Owners
from clearhold.demo.ledger import Ledger
from clearhold.demo.moves import Move
from clearhold.demo.parties import Other
from clearhold.demo.preflights import preflight_request
from clearhold.demo.reporter import Delivery
from clearhold.demo.service import DemoError
from clearhold.demo.stage import Stage
from clearhold.demo.watcher import Watcher

BATCH: Final = 100
TRIES: Final = 12
"""Of a batch, half a minute in all: a busy machine takes history more slowly than it is delivered."""
PROBED_IN: Final = 5
PROGRESS_EVERY_S: Final = 0.1

Introduce = Callable[[Iterable[tuple[Other, int]]], None]


class Runner:
    """One bank against one service."""

    def __init__(
        self,
        bank: SimulatedBank,
        stage: Stage,
        client: ClearholdClient,
        board: Board,
        watcher: Watcher,
        *,
        ledger: Ledger,
        introduce: Introduce,
        url: str,
    ) -> None:
        self._bank, self._stage, self._client, self._board = bank, stage, client, board
        self._watcher, self._ledger, self._introduce, self._url = watcher, ledger, introduce, url
        self._coming: list[tuple[int, int, Delivery]] = []
        self._count = 0
        self._landed = 0
        self.owners = Owners([])
        self.last_ids: dict[str, str] = {}  # by program, the newest transfer of its history
        self._to_probe: set[str] = set()
        self._reported: dict[str, str] = {}  # by telling, its newest transfer

    def load_history(self, until: int, on_progress: Callable[[int, int], None], *, days: int = HISTORY_DAYS) -> int:
        """Deliver the months before ``until``; returns the number of events."""
        deliveries = self._bank.history(until, days=days)
        self._introduce(self._bank.newcomers())
        self._plant(deliveries, live=False)
        self.owners = Owners(deliveries)
        self.last_ids = newest_transfers(deliveries)
        done = 0
        with ThreadPoolExecutor(len(self._stage.programs)) as pool:
            taken: SimpleQueue[int] = SimpleQueue()
            posting = [pool.submit(self._load, program, deliveries, taken.put) for program in self._stage.programs]
            while not all(one.done() for one in posting) or not taken.empty():
                with suppress(Empty):
                    done += taken.get(timeout=PROGRESS_EVERY_S)
                    on_progress(done, len(deliveries))
        for one in posting:
            one.result()
        return len(deliveries)

    def live(self, *, transfers_per_second: float, until: float | None, between: Callable[[], None]) -> None:
        """Move money at a steady pace until ``until`` (``time.monotonic``), or for ever."""
        due = time.monotonic()
        while until is None or due < until:
            due += 1 / transfers_per_second
            move = self._bank.next_move(now_us())
            if self._bank.asks_first(move):
                self._ask(move)
            self._land(move)
            while True:
                self._deliver_due()
                between()
                left = due - time.monotonic()
                if left <= 0:
                    break
                time.sleep(min(left, 0.05))

    def finish(self) -> None:
        """Deliver the remaining events at once."""
        while self._coming:
            delivery = heapq.heappop(self._coming)[2]
            self._deliver(delivery)
            if delivery.transfer_id is not None:
                self.last_ids[delivery.program] = delivery.transfer_id

    def _load(self, program: str, deliveries: list[Delivery], on_taken: Callable[[int], None]) -> None:
        """One program's history, in order over one connection."""
        access = self._stage.programs[program]
        target = Target(url=self._url, program_id=access.program_id, secret=access.secret)
        mine = (delivery.body for delivery in deliveries if delivery.program == program)
        for count in _posted(target, mine, self._board):
            on_taken(count)

    def _ask(self, move: Move) -> None:
        """A story's move waits for the scores of its earlier ones, which a busy machine has later."""
        if move.telling in self._reported:
            earlier = {move.program: self._reported[move.telling]}
            self._watcher.await_scores(earlier, check=self._deliver_due)
        program_id = self._stage.programs[move.program].program_id
        request = preflight_request(program_id, move, on_file=self._bank.knows(move))
        started = time.perf_counter()
        answer = self._client.preflight(request)
        self._board.asked(answer["decision"], 1_000 * (time.perf_counter() - started))
        self._ledger.answer(move, answer["decision"])

    def _land(self, move: Move) -> None:
        at = now_us()
        self._landed += 1
        transfer_id: str | None = None
        deliveries = self._bank.report(move, at)
        self._introduce(self._bank.newcomers())
        self._plant(deliveries, live=True)
        for delivery in deliveries:
            self._count += 1
            heapq.heappush(self._coming, (delivery.due_at, self._count, delivery))
            if delivery.transfer_id is not None:
                transfer_id = delivery.transfer_id
        if transfer_id is not None and move.story:
            self._board.story(transfer_id, move.story)
            self._reported[move.telling] = transfer_id
        if transfer_id is not None and self._landed % PROBED_IN == 0:
            self._to_probe.add(transfer_id)
        self._deliver_due()

    def _plant(self, deliveries: list[Delivery], *, live: bool) -> None:
        for delivery in deliveries:
            if delivery.move is not None and delivery.transfer_id is not None:
                self._ledger.plant(delivery.move, delivery.transfer_id, live=live)

    def _deliver_due(self) -> None:
        while self._coming and self._coming[0][0] <= now_us():
            self._deliver(heapq.heappop(self._coming)[2])

    def _deliver(self, delivery: Delivery) -> None:
        access = self._stage.programs[delivery.program]
        started = time.perf_counter()
        posted = self._client.post_event(access.program_id, access.secret, delivery.body)
        self._board.posted(duplicate=posted.duplicate)
        if delivery.transfer_id is not None and delivery.transfer_id in self._to_probe:
            self._to_probe.discard(delivery.transfer_id)
            self._watcher.probe(delivery.program, delivery.transfer_id, started)


def newest_transfers(deliveries: list[Delivery]) -> dict[str, str]:
    """By program, the transfer whose first event is delivered last."""
    seen: set[tuple[str, str]] = set()
    newest: dict[str, str] = {}
    for delivery in deliveries:
        if delivery.transfer_id is not None and (delivery.program, delivery.transfer_id) not in seen:
            seen.add((delivery.program, delivery.transfer_id))
            newest[delivery.program] = delivery.transfer_id
    return newest


def _posted(target: Target, bodies: Iterator[bytes], board: Board) -> Iterator[int]:
    """Post events in order, batch by batch; yields how many were answered."""
    with ClearholdClient(target.url, max_tries=TRIES) as client:
        while batch := list(islice(bodies, BATCH)):
            try:
                answers = client.post_events(target.program_id, target.secret, batch)
            except (RefusedError, UnreachableError) as error:
                raise DemoError(f"The history could not be loaded: {error}") from error
            for posted in answers:
                if not posted.received:
                    raise DemoError(f"The service refused an event of the history: {posted.error}")
                board.posted(duplicate=posted.duplicate)
            yield len(answers)
