"""The queue at a terminal: one loop over keys. A key chooses; only a typed ``yes`` signs."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from clearhold.api.cli.queue_items import (
    ALERTS,
    STACKS,
    QueueItem,
    alert_lines,
    alerts_in,
    explanation_lines,
    item_of,
    stack_lines,
)
from clearhold.api.cli.terminal import Terminal
from clearhold.client.answers import TRY_AGAIN_STATUSES, RefusedError, UnreachableError
from clearhold.client.client import ClearholdClient
from clearhold.store.ids import new_id

DECISIONS: Final = {"h": "hold", "e": "escalate", "c": "close", "r": "release", "n": "no_action"}
HELP: Final = (
    "j next  k previous  o or Enter read  m more  l list  h hold  e escalate  c close  r release  n no action  q quit"
)
AT_ONCE: Final = 10
"""The number of items that are listed at a time."""
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_SIGNS: Final = "yes"


class Queue:
    """The waiting items, read page by page: stacks where the service has them, else alerts."""

    def __init__(self, client: ClearholdClient, filters: dict[str, str], *, limit: int) -> None:
        self._client, self._filters, self._limit = client, filters, limit
        self._kind, self._cursor = STACKS, ""
        self.items: list[QueueItem] = []
        self.has_more = True

    def read_more(self) -> None:
        """Read the next page. Raises ``RefusedError`` and ``UnreachableError``."""
        query = self._filters | {"limit": str(self._limit)} | ({"cursor": self._cursor} if self._cursor else {})
        try:
            page = self._page(query)
        except RefusedError as error:
            if self._kind != STACKS or error.status != _NOT_FOUND or error.code == "program_not_found":
                raise
            self._kind = ALERTS  # a service of an earlier version
            page = self._page(query)
        self.items += (item_of(self._kind, each) for each in page["data"])
        self._cursor, self.has_more = page["nextCursor"] or "", page["hasMore"]

    def _page(self, query: dict[str, str]) -> dict[str, Any]:
        statuses = {} if self._kind == STACKS else {"status": "open,held,escalated"}
        return self._client.waiting(self._kind, **query, **statuses)


class QueueSession:
    """``operator`` signs; its name is shown before each signature."""

    def __init__(self, client: ClearholdClient, queue: Queue, terminal: Terminal, operator: str) -> None:
        self._client, self._queue, self._terminal, self._operator = client, queue, terminal, operator
        self._place = 0

    def run(self) -> None:
        """Until ``q`` or the end of the input. Raises ``RefusedError`` for a token that is not accepted."""
        self._terminal.say(HELP)
        self._list()
        while (key := self._terminal.key()) not in {"q", ""}:
            if key in {"j", "k"}:
                self._move(1 if key == "j" else -1)
            elif key == "m":
                self._more()
            elif key == "l":
                self._list()
            elif key in {"o", "\n", "\r"}:
                self._read()
            elif key in DECISIONS:
                self._decide(DECISIONS[key])
            else:
                self._terminal.say(HELP)

    @property
    def _item(self) -> QueueItem | None:
        items = self._queue.items
        self._place = min(self._place, max(0, len(items) - 1))
        return items[self._place] if items else None

    def _list(self) -> None:
        items = self._queue.items
        first = self._place - self._place % AT_ONCE
        for place, item in enumerate(items[first : first + AT_ONCE], start=first):
            self._terminal.say(f"{'>' if place == self._place else ' '} {place + 1}. {item.line()}")
        more = ", and more behind m" if self._queue.has_more else ""
        self._terminal.say(f"{len(items)} read{more}." if items else "Nothing waits.")

    def _move(self, by: int) -> None:
        self._place = min(max(0, self._place + by), max(0, len(self._queue.items) - 1))
        self._here()

    def _here(self) -> None:
        item = self._item
        self._terminal.say("Nothing waits." if item is None else f"> {self._place + 1}. {item.line()}")

    def _more(self) -> None:
        if not self._queue.has_more:
            self._terminal.say("There is no more.")
        elif self._answered(self._queue.read_more):
            self._list()

    def _read(self) -> None:
        item = self._item
        if item is not None:
            self._answered(lambda: self._show(item))

    def _show(self, item: QueueItem) -> None:
        alert_id, transfer_id = item.id, item.whole.get("transferId")
        if item.kind == STACKS:
            detail = self._client.one_waiting(STACKS, item.id)
            self._say(stack_lines(detail))
            waiting = alerts_in(detail)
            if not waiting:
                return
            alert_id, transfer_id = waiting[0]["id"], waiting[0].get("transferId")
        self._say(alert_lines(self._client.one_waiting(ALERTS, alert_id)))
        if transfer_id is not None:
            self._say(explanation_lines(self._client.explain(transfer_id, program_id=item.program_id)))

    def _decide(self, decision: str) -> None:
        """Ask for the narrative and the signature, and send it. The same words are kept for another try."""
        item = self._item
        if item is None:
            self._terminal.say("Nothing waits.")
            return
        alerts = self._looked_at(item)
        if alerts is None:
            return
        self._here()
        narrative = self._terminal.line(f"{decision}: why? (empty goes back)").strip()
        if not narrative:
            self._terminal.say("Nothing was signed.")
            return
        number = "1 alert" if len(alerts) == 1 else f"{len(alerts)} alerts"
        body: dict[str, Any] = {"decision": decision, "narrative": narrative}
        if item.kind == STACKS:
            body["alertIds"] = alerts
        question = f"Sign {decision} on {number} as {self._operator}? Type {_SIGNS}:"
        key = new_id()
        while self._terminal.line(question).strip() == _SIGNS:
            if self._sign(item, body, key):
                return
            question = f"Try the same again? Type {_SIGNS}:"
        self._terminal.say(f"Not signed here. Your words: {narrative}")

    def _looked_at(self, item: QueueItem) -> list[str] | None:
        """The ids of the alerts that a decision is on, as they wait now; None without an answer."""
        if item.kind == ALERTS:
            return [item.id]
        waiting: list[str] = []

        def read() -> None:
            detail = self._client.one_waiting(STACKS, item.id)
            waiting.extend(alert["id"] for alert in alerts_in(detail))

        if not self._answered(read):
            return None
        if not waiting:
            self._terminal.say("None of its alerts waits any more.")
            self._drop(item)
            return None
        return waiting

    def _sign(self, item: QueueItem, body: dict[str, Any], key: str) -> bool:
        """Whether the decision is settled, signed or refused for good; False to try the same again."""
        try:
            answer = self._client.decide(item.kind, item.id, body, key=key)
        except UnreachableError as error:
            self._terminal.say(f"{error} It is not known whether it was signed. The same again signs it once.")
            return False
        except RefusedError as error:
            return self._refused(item, body, error)
        results = answer.get("results")
        if "decision" not in answer:
            self._terminal.say(f"It waits for a second person, as action {answer['id']}.")
        elif results is None:
            self._terminal.say(f"Signed: {answer['decision']}, link {answer['hash']}.")
        else:
            waiting = f", {answer['requested']} wait for a second person" if answer["requested"] else ""
            self._terminal.say(f"Signed: {answer['decided']} of {len(results)}{waiting}.")
            refused = {each["error"]["error"] for each in results if each.get("error") is not None}
            self._say(f"  Not signed: {sentence}" for sentence in sorted(refused))
        self._drop(item)
        return True

    def _refused(self, item: QueueItem, body: dict[str, Any], error: RefusedError) -> bool:
        if error.status == _UNAUTHORIZED:
            raise error
        is_unsure = error.status in TRY_AGAIN_STATUSES
        self._terminal.say(f"{'It is not known whether it was signed' if is_unsure else 'Not signed'}: {error}")
        if not is_unsure:
            self._terminal.say(f"Your words: {body['narrative']}")
        if error.status == _CONFLICT:
            self._drop(item)
        return not is_unsure

    def _drop(self, item: QueueItem) -> None:
        """Take a settled item out; the next one comes into its place."""
        self._queue.items[:] = [each for each in self._queue.items if each.id != item.id]
        if not self._queue.items and self._queue.has_more:
            self._answered(self._queue.read_more)
        self._here()

    def _answered(self, call: Callable[[], None]) -> bool:
        """Whether the service answered; if not, it is said why. A token that is not accepted ends the session."""
        try:
            call()
        except RefusedError as error:
            if error.status == _UNAUTHORIZED:
                raise
            self._terminal.say(str(error))
            return False
        except UnreachableError as error:
            self._terminal.say(str(error))
            return False
        return True

    def _say(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._terminal.say(line)
