"""A reader of the feed that comes back after each end of its connection."""

import threading
from typing import Self

from tests.support.listening import Listener, Told
from tests.support.running_service import RunningService
from tests.support.waiting import eventually


class Follower:
    """Comes back with its last id whenever the connection breaks, as a browser does."""

    def __init__(self, service: RunningService, token: str) -> None:
        self._service, self._token = service, token
        self._is_over = threading.Event()
        self.told: list[Told] = []
        self.last_id = self.first_id = ""
        self.breaks, self.comments = -1, 0  # of the answers that ended
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        eventually(lambda: self.first_id)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._is_over.is_set():
            listener = Listener(self._service.port, self._token, last_id=self.last_id)
            listener.begin()
            self.breaks += 1
            while not listener.is_done and not self._is_over.wait(0.01):
                self.first_id = self.first_id or listener.last_id
            listener.end()
            self.told += listener.told
            self.comments += listener.parser.comments
            self.last_id = listener.last_id or self.last_id
            self._is_over.wait(0.05)
