"""The inputs of an agent's score, recomputed from the items alone: every list is read whole, nothing is kept.

Written from the contract of the index and from docs/agents.md; it shares no code with the state.
"""

from collections import Counter
from typing import Any, Final, NamedTuple

from clearhold.features.core.instants import DAY_US, DAYS_30, DAYS_90, parse_instant
from tests.support.scan_items import Item

NEWEST: Final = 64
ALWAYS: Final = -(2**63)
ZERO: Final = "0x" + 40 * "0"


class Paid(NamedTuple):
    """A settlement that an agent was given."""

    agent: int
    payer: str
    units: int
    at: int
    row: int


def instant(text: str | None) -> int | None:
    return None if text is None else parse_instant(text)


def _newest(paid: list[Paid]) -> list[Paid]:
    return sorted(paid, key=lambda each: (each.at, each.row))[-NEWEST:]


class AgentOracle:
    """All items of one chain, in the order of the log."""

    def __init__(self) -> None:
        self.agents: dict[int, Item] = {}
        self.holdings: list[tuple[str, int, int, int | None]] = []  # wallet, agent, since, until
        self.known_at: dict[int, int] = {}
        self.profiles: dict[str, Item] = {}
        self.paid: dict[str, Paid] = {}
        self.status: dict[str, str] = {}
        self.first_agent: dict[str, int | None] = {}  # of a payer, as it was at its first payment
        self.linked: dict[str, int] = {}

    def agent(self, item: Item, at: int) -> None:
        number, wallet = int(item["agentId"]), item["wallet"]
        wallet = None if wallet in {None, ZERO} else wallet.lower()
        former = self.agents.get(number)
        self.agents[number] = item | {"wallet": wallet}
        if former is not None and former["wallet"] == wallet:
            return
        stated = [instant(item["registeredAt"]), instant(item["ownerChangedAt"])]
        since = at if former is not None else max(each for each in (ALWAYS, *stated) if each is not None)
        self.holdings = [
            (held, who, start, at if who == number and until is None else until)
            for held, who, start, until in self.holdings
        ]
        self.known_at[number] = at
        if wallet is not None:
            self.holdings.append((wallet, number, since, None))
            if wallet in self.first_agent:
                self.linked[wallet] = number

    def profile(self, item: Item) -> None:
        self.profiles[item["address"].lower()] = item

    def settle(self, item: Item, appended_at: int) -> None:
        key = item["id"]
        if key in self.paid:
            if not self._differs(self.paid[key], item):
                self.status[key] = item["status"]
            return
        agent = self._paid_agent(item)
        if agent is None:
            return
        payer, at = item["payer"].lower(), instant(item["settledAt"])
        assert at is not None
        holders = self._holders(payer, at)
        if len(holders) == 1:
            self.linked.setdefault(payer, holders[0])
        self.first_agent.setdefault(payer, self.linked.get(payer))
        self.paid[key] = Paid(agent, payer, int(item["amountAtomic"]), min(at, appended_at), len(self.paid))
        self.status[key] = item["status"]

    def inputs(self, number: int, at: int) -> dict[str, Any]:
        item = self.agents[number]
        own = [each for each in self._moved() if each.agent == number and each.at <= at]
        recent = _newest([each for each in own if each.at > at - DAYS_90])
        payers = Counter(self._party(each.payer) for each in recent)
        return {
            "settlements": len(own),
            "volume_cents": (sum(each.units for each in own) + 5_000) // 10_000,
            "settlements_24h": sum(each.at > at - DAY_US for each in own),
            "settlements_30d": sum(each.at > at - DAYS_30 for each in own),
            "recent_settlements": len(recent),
            "distinct_payers": len(payers),
            "top_payer_settlements": max(payers.values(), default=0),
            "self_dealing_settlements": sum(self._is_own(each.payer, item["owner"]) for each in recent),
            "round_trips_30d": self._round_trips(number, own, at),
            "listed_payer_settlements": sum(self._is_listed(each.payer) for each in recent),
            "registration_age_days": self._days(item["registeredAt"], at),
            "owner_changed_days": self._days(item["ownerChangedAt"], at),
            "active": item["active"],
            "has_wallet": item["wallet"] is not None,
            "wallet_screening": self._screening(item["wallet"]),
        }

    def _moved(self) -> list[Paid]:
        return [paid for key, paid in self.paid.items() if self.status[key] != "dropped"]

    def _party(self, payer: str) -> int | str:
        """The agent that a payer was at its first payment, else the wallet."""
        first = self.first_agent[payer]
        return payer if first is None else first

    def _agent_of(self, payer: str) -> int | None:
        first = self.first_agent[payer]
        return self.linked.get(payer) if first is None else first

    def _is_own(self, payer: str, owner: str) -> bool:
        agent = self._agent_of(payer)
        return payer == owner if agent is None else self.agents[agent]["owner"] == owner

    def _is_listed(self, payer: str) -> bool:
        first = self.first_agent[payer]
        if first is None:
            return self._screening(payer) == "hit"
        wallets = [wallet for wallet, agent in self.linked.items() if agent == first]
        return "hit" in map(self._screening, [self.agents[first]["wallet"], *wallets])

    def _screening(self, wallet: str | None) -> str | None:
        profile = None if wallet is None else self.profiles.get(wallet)
        return None if profile is None else profile["screeningStatus"]

    def _round_trips(self, number: int, own: list[Paid], at: int) -> int:
        def recent(paid: list[Paid]) -> list[Paid]:
            return [each for each in paid if at - DAYS_30 < each.at <= at]

        payers: set[int | str] = set()
        for each in _newest(recent(own)):
            agent = self._agent_of(each.payer)
            payers.add(each.payer if agent is None else agent)
        paid = {each.agent for each in recent(self._moved()) if self._agent_of(each.payer) == number}
        return len((payers & paid) - {number})

    def _holders(self, wallet: str, at: int) -> list[int]:
        return [
            who
            for held, who, since, until in self.holdings
            if held == wallet and since <= at and (until is None or at < until)
        ]

    def _paid_agent(self, item: Item) -> int | None:
        wallet, at = item["payTo"].lower(), instant(item["settledAt"])
        assert at is not None
        holders = self._holders(wallet, at)
        if item["agent"] is None:
            return holders[0] if len(holders) == 1 else None
        number = int(item["agent"]["agentId"])
        if number not in self.agents:
            return None
        if holders:
            return number if number in holders else None
        agent = self.agents[number]
        is_sure = agent["wallet"] is not None and at >= self.known_at[number]
        return None if is_sure and wallet not in {agent["wallet"], agent["owner"]} else number

    def _differs(self, paid: Paid, item: Item) -> bool:
        named = item["agent"]
        return (
            (named is not None and int(named["agentId"]) != paid.agent)
            or item["payer"].lower() != paid.payer
            or int(item["amountAtomic"]) != paid.units
        )

    def _days(self, text: str | None, at: int) -> int | None:
        since = instant(text)
        return None if since is None else max(0, at - since) // DAY_US
