"""Items of a scan index as an index sends them, and a story of a program that imports them."""

from typing import Any, Final

import msgspec

from clearhold.features.core.entries.directory import AgentImportEntry, ImportStage
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.parties import AgentImportRow
from clearhold.features.measurement.actor_inputs import agent_inputs
from clearhold.features.scorers.ars_v1 import AgentInputs
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.stories import PROGRAM, ShardStory

Item = dict[str, Any]

BASE: Final = 8453
REGISTRY: Final = "0x8004a169fb4a3325136eb29fa0ceb6d2e539a432"
USDC: Final = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"


def address(number: int) -> str:
    """An address that is nobody's."""
    return f"0x{number:040x}"


def wallet_of(number: int) -> str:
    """The wallet that agents of the stories have."""
    return address(0xA000_0000 + number)


def entity_of(number: int, *, chain_id: int = BASE) -> str:
    return f"agent:{chain_id}:{REGISTRY}:{number}"


def an_agent(number: int = 22, **over: Any) -> Item:
    """An agent that was registered long ago, and of which nothing bad is known."""
    agent: Item = {
        "chainId": BASE,
        "registry": REGISTRY,
        "agentId": str(number),
        "owner": address(0xB000_0000 + number),
        "wallet": wallet_of(number),
        "name": f"Quote Bot {number}",
        "description": "Quotes",
        "uri": "https://q.example/a.json",
        "uriHash": "0x00",
        "registrationValid": True,
        "active": True,
        "x402Support": True,
        "services": [{"name": "A2A", "endpoint": "https://q.example/.well-known/agent-card.json"}],
        "domainVerified": None,
        "registeredAt": "2025-03-01T10:00:00Z",
        "ownerChangedAt": None,
        "updatedAt": format_instant(T0),
        "reputation": {"count": 0, "clients": 0, "paidCount": 0, "byTag": [], "revoked": 0},
        "validation": {"count": 0, "mean": None, "lastAt": None},
    }
    return agent | over


def a_profile(wallet: str, screening: str | None = "clear", **over: Any) -> Item:
    profile: Item = {
        "address": wallet,
        "chainId": BASE,
        "verificationStatus": "UNVERIFIED",
        "screeningStatus": screening,
        "screenedAt": None if screening is None else format_instant(T0),
        "lists": ["OFAC-SDN 2026-09-14"],
        "hits": [],
        "exposure": {"sanctioned": "0.000", "mixer": "0.010", "vendor": "example-v2"},
        "country": None,
    }
    return profile | over


def a_settlement(number: int, at: int, *, agent: int | None = 22, payer: str | None = None, **over: Any) -> Item:
    """A payment of $2.50 to the wallet of an agent, by a payer of its own unless one is given."""
    tx_hash = f"0x{0x91C0_0000 + number:064x}"
    settlement: Item = {
        "id": f"{BASE}:{tx_hash}:14",
        "chainId": BASE,
        "txHash": tx_hash,
        "logIndex": 14,
        "blockNumber": 31_800_000 + number,
        "settledAt": format_instant(at),
        "status": "confirmed",
        "scheme": "exact",
        "asset": USDC,
        "assetSymbol": "USDC",
        "decimals": 6,
        "amountAtomic": "2500000",
        "payer": payer or address(0x1000 + number),
        "payTo": wallet_of(22 if agent is None else agent),
        "agent": None if agent is None else {"chainId": BASE, "registry": REGISTRY, "agentId": str(agent)},
        "payerAgent": None,
        "facilitator": address(0xFAC),
        "resource": "https://q.example/quote",
    }
    return settlement | over


def transfer_of(settlement: Item) -> str:
    return f"x402:{settlement['chainId']}:{settlement['txHash']}:{settlement['logIndex']}"


class AgentStory(ShardStory):
    """The program ``agents``, driven by items of a scan index. Instants are absolute."""

    def __init__(self) -> None:
        super().__init__(a_program(id=PROGRAM, slug="agents"))
        self._imports = 0

    def agents(self, *items: Item, at: int = T0) -> "AgentStory":
        return self._items(EntryKind.AGENT, items, at)

    def profiles(self, *items: Item, at: int = T0) -> "AgentStory":
        return self._items(EntryKind.PROFILE, items, at)

    def settle(self, *items: Item, at: int) -> "AgentStory":
        return self._items(EntryKind.SETTLEMENT, items, at)

    def begin(self, at: int = T0) -> "AgentStory":
        self._imports += 1
        return self._imported(ImportStage.BEGUN, at)

    def finish(self, at: int = T0) -> AgentImportRow:
        self._imported(ImportStage.DONE, at)
        return self.one(AgentImportRow)

    def inputs(self, at: int, number: int = 22) -> AgentInputs:
        """What an agent's score would be given from."""
        actor = self.program.entity(entity_of(number))
        assert actor is not None
        return agent_inputs(self.program, actor, at)

    def _imported(self, stage: ImportStage, at: int) -> "AgentStory":
        entry = AgentImportEntry(id=f"import_{self._imports}", stage=stage)
        self.append(EntryKind.AGENT_IMPORT, msgspec.json.encode(entry), at=at)
        return self

    def _items(self, kind: EntryKind, items: tuple[Item, ...], at: int) -> "AgentStory":
        for item in items:
            self.append(kind, msgspec.json.encode(item), at=at)
        return self
