"""The graph of money computed a second time, in plain Python, from the events as they were sent."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

POSTED = {"SETTLED", "COMPLETED", "RETURN_DISHONORED"}
FAILED = {"CANCELED", "REJECTED", "FAILED"}


class Sent(NamedTuple):
    """A transfer as last sent: ``rail``, whether the bank calls it incoming, and its object."""

    rail: str
    data: Mapping[str, Any]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


class NaiveGraph:
    """``owners`` are of accounts by id, ``accounts`` and ``entities`` all that the program has; ``held`` transfers."""

    def __init__(
        self,
        sent: Iterable[Sent],
        *,
        owners: Mapping[str, str],
        accounts: set[str],
        entities: set[str],
        program: str,
        held: Iterable[str] = (),
    ) -> None:
        self._sent, self._owners, self._program = [*sent], owners, program
        self._accounts, self._entities, self._held = accounts, entities, set(held)

    def edges(
        self, center: set[str], *, days: int, to: str | None = None, marked: Iterable[str] = (), apart: str = ""
    ) -> dict[tuple[str, str], dict[str, Any]]:
        """The edges that touch the center, or that marked transfers run over, by their ends."""
        always = set(marked)
        newest = max(moment(each.data["created_at"]) for each in self._sent)
        end = newest + timedelta(microseconds=1) if to is None else moment(to)
        edges: dict[tuple[str, str], dict[str, Any]] = {}
        for each in self._sent:
            at, ends = moment(each.data["created_at"]), self._ends(each, apart)
            near = end - timedelta(days=days) <= at < end and center & set(ends)
            if ends[1] == "" or ends[0] == "" or not (near or each.data["id"] in always):
                continue
            self._add(edges.setdefault(ends, _nothing()), each, at)
        return edges

    def unnamed(self, center: set[str]) -> dict[str, Any]:
        """Transfers of the center without another side, of all times."""
        total = _nothing()
        for each in self._sent:
            ends = self._ends(each, "")
            if "" in ends and center & set(ends):
                self._add(total, each, moment(each.data["created_at"]))
        return {"transfers": total["transfers"], "cents": total["cents"]}

    def _ends(self, sent: Sent, apart: str) -> tuple[str, str]:
        data = sent.data
        account = data.get("sender_bank_account_id") if sent.rail == "book" else data.get("bank_account_id")
        other = data.get("receiver_bank_account_id") if sent.rail == "book" else data.get("counterparty_id")
        if account is not None and account == apart:
            own = f"account:{account}"
        elif data.get("entity_id"):
            own = f"entity:{data['entity_id']}"
        elif account is not None:
            own = self._account(account)
        else:
            own = f"program:{self._program}"
        if other is None:
            paid = ""
        elif other == apart:
            paid = f"account:{other}"
        elif other in self._accounts:
            paid = self._account(other)
        else:
            paid = f"entity:{other}" if other in self._entities else f"counterparty:{other}"
        leaves = not data.get("is_incoming", False)
        if sent.rail == "ach" and data.get("type") == "DEBIT":
            leaves = not leaves
        return (own, paid) if leaves else (paid, own)

    def _account(self, account: str) -> str:
        owner = self._owners.get(account)
        return f"account:{account}" if owner is None else f"entity:{owner}"

    def _add(self, edge: dict[str, Any], sent: Sent, at: datetime) -> None:
        data, status = sent.data, sent.data["status"]
        is_usd = data["currency_code"] == "USD"
        cents = data["amount"] if is_usd else data.get("settled_amount") or 0
        known = is_usd or "settled_amount" in data
        edge["at"].append(at)
        if status in FAILED:
            edge["failedTransfers"] += 1
            edge["failedCents"] += cents
            return
        if status == "RETURNED":
            place = "returnedCents"
        elif data["id"] in self._held:
            place = "heldCents"
        else:
            place = "postedCents" if status in POSTED else "pendingCents"
        edge["transfers"] += 1
        edge["cents"] += cents
        edge[place] += cents
        edge["unpricedTransfers"] += not known


def _nothing() -> dict[str, Any]:
    names = ("cents", "postedCents", "pendingCents", "returnedCents", "heldCents", "failedCents")
    return dict.fromkeys((*names, "transfers", "failedTransfers", "unpricedTransfers"), 0) | {"at": []}


def shown(edges: Mapping[tuple[str, str], dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """The edges with their figures as the interface writes them."""
    answer = {}
    for ends, edge in edges.items():
        figures = {name: str(value) if name.endswith(("Cents", "cents")) else value for name, value in edge.items()}
        del figures["at"]
        at: list[datetime] = edge["at"]
        figures |= {"firstAt": _text(min(at)), "lastAt": _text(max(at))}
        answer[ends] = figures
    return answer


def _text(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
