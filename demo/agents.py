"""On-chain agents for the demo: the data of a public scan index on a few of them, and their scores.

Two that strangers pay, for cents and less; three of one owner that pay one another in a ring; and one that is paid by a
wallet on the OFAC list. All but that wallet is invented.

Source  OFAC, Specially Designated Nationals list, digital currency addresses: SDN 29702, ETH
"""

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table

from clearhold.client.client import ClearholdClient
from clearhold.demo.scan_index import Item, ScanIndex
from clearhold.features.core.instants import DAY_US, HOUR_US, format_instant

CHAIN: Final = 8453
REGISTRY: Final = "0x8004a169fb4a3325136eb29fa0ceb6d2e539a432"
USDC: Final = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
LISTED_WALLET: Final = "0x901bb9583b24d97e995513c6778dc6888ab6870e"
RING_OWNER: Final = f"0x{0x0B05:040x}"
PAYMENTS: Final = 30
AGENTS: Final = {
    1: "Quote Bot",
    2: "Map Tiles",
    3: "Ring Alpha",
    4: "Ring Beta",
    5: "Ring Gamma",
    6: "Data Broker",
}
RING: Final = (3, 4, 5)
MICRO, PAID_BY_LISTED = 2, 6


def filled_index(*, seed: int, now: int) -> ScanIndex:
    """An index with the agents, the profiles of their wallets and their payments of the last month."""
    index = ScanIndex(as_of=format_instant(now))
    index.replace("agents", [_agent(number, now) for number in AGENTS])
    wallets = [*map(_wallet, AGENTS), LISTED_WALLET]
    index.replace("profiles", [_profile(wallet, now) for wallet in wallets])
    index.replace("settlements", [*_settlements(Random(seed), now)])
    return index


def import_agents(client: ClearholdClient) -> list[dict[str, Any]]:
    """Import them into the service; the agents in its answer."""
    client.import_agents()
    return client.agents()


def agents_table(agents: list[dict[str, Any]]) -> RenderableType:
    """The agents with their scores."""
    table = Table(box=None, padding=(0, 2, 0, 0), title="On-chain agents, from a scan index", title_justify="left")
    for name in ("agent", "settlements", "volume", "wallet", "score", "band"):
        table.add_column(name, justify="right" if name in {"settlements", "volume", "score"} else "left")
    for agent in agents:
        cents = int(agent["volumeCents"])
        table.add_row(
            agent["name"],
            str(agent["settlements"]),
            f"${cents // 100:,}.{cents % 100:02d}",
            agent["screeningStatus"] or "not screened",
            "-" if agent["score"] is None else str(agent["score"]),
            agent["bandName"],
        )
    return table


def _wallet(number: int) -> str:
    return f"0x{0xA9E2_0000 + number:040x}"


def _agent(number: int, now: int) -> Item:
    return {
        "chainId": CHAIN,
        "registry": REGISTRY,
        "agentId": str(number),
        "owner": RING_OWNER if number in RING else f"0x{0x0500 + number:040x}",
        "wallet": _wallet(number),
        "name": AGENTS[number],
        "active": True,
        "x402Support": True,
        "registeredAt": format_instant(now - (20 if number in RING else 200) * DAY_US),
        "ownerChangedAt": None,
        "updatedAt": format_instant(now - DAY_US),
        "reputation": {"count": 12, "clients": 9, "paidCount": 0 if number in RING else 6, "byTag": [], "revoked": 0},
        "validation": {"count": 0, "mean": None, "lastAt": None},
    }


def _profile(wallet: str, now: int) -> Item:
    return {
        "address": wallet,
        "chainId": CHAIN,
        "verificationStatus": "UNVERIFIED",
        "screeningStatus": "hit" if wallet == LISTED_WALLET else "clear",
        "screenedAt": format_instant(now - DAY_US),
    }


def _settlements(random: Random, now: int) -> Iterator[Item]:
    """Payments in the order of time; those of the ring go round, agent by agent."""
    for number in range(PAYMENTS):
        at = now - 20 * DAY_US + number * 15 * HOUR_US
        for agent in AGENTS:
            payer = f"0x{0x9A7E_0000 + random.randrange(40):040x}"
            if agent in RING and number % 3:
                place = RING.index(agent) + (2 if number % 2 else 1)
                payer = _wallet(RING[place % len(RING)])
            if agent == PAID_BY_LISTED and number == PAYMENTS - 2:
                payer = LISTED_WALLET
            units = random.randrange(1_000, 9_000) if agent == MICRO else random.randrange(50, 900) * 10_000
            yield _settlement(agent, number, at, payer=payer, units=units)


def _settlement(agent: int, number: int, at: int, *, payer: str, units: int) -> Item:
    tx_hash = f"0x{(number << 8) + agent:064x}"
    return {
        "id": f"{CHAIN}:{tx_hash}:0",
        "chainId": CHAIN,
        "txHash": tx_hash,
        "logIndex": 0,
        "settledAt": format_instant(at + agent),
        "status": "confirmed",
        "scheme": "exact",
        "asset": USDC,
        "assetSymbol": "USDC",
        "decimals": 6,
        "amountAtomic": str(units),
        "payer": payer,
        "payTo": _wallet(agent),
        "agent": {"chainId": CHAIN, "registry": REGISTRY, "agentId": str(agent)},
        "payerAgent": None,
    }
