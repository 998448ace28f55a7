"""The demo's record of its work: the transfers of each telling of a story, and the answers of pre-flights."""

from pathlib import Path

import msgspec

from clearhold.demo.moves import Move


class Telling(msgspec.Struct, kw_only=True):
    """One run of a story. ``complete``: all its moves were made before the demo was stopped."""

    story: str
    program: str
    live: bool
    transfer_ids: set[str] = msgspec.field(default_factory=set)
    complete: bool = False
    answers: list[str] = msgspec.field(default_factory=list)


class Ledger:
    """The tellings by their own ids; kept beside the data, so that a later run on it knows them."""

    def __init__(self) -> None:
        self.tellings: dict[str, Telling] = {}

    def plant(self, move: Move, transfer_id: str, *, live: bool) -> None:
        if move.story:
            telling = self._telling(move, live=live)
            telling.transfer_ids.add(transfer_id)
            telling.complete = telling.complete or move.closes

    def answer(self, move: Move, decision: str) -> None:
        if move.story:
            self._telling(move, live=True).answers.append(decision)

    def save(self, path: Path) -> None:
        path.write_bytes(msgspec.json.encode(self.tellings))

    def load(self, path: Path) -> None:
        if path.exists():
            self.tellings = msgspec.json.decode(path.read_bytes(), type=dict[str, Telling])

    def _telling(self, move: Move, *, live: bool) -> Telling:
        return self.tellings.setdefault(move.telling, Telling(story=move.story, program=move.program, live=live))
