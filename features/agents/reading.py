"""Reads the items of a scan index from the bytes that it sent, without trusting them.

An item without its identifying fields gives a ``SkipReason``. Any other field of a wrong type counts as absent.

Errors  none
Source  ``scan-index/1``; ERC-8004 (draft) for ids and wallets; Circle's list of USDC contracts on main networks

Unit    instants in microseconds; ``units`` are millionths of a US dollar; None is not stated
"""

import re
from decimal import ROUND_FLOOR, Decimal
from typing import Any, Final

import msgspec

from clearhold.features.bank.fields import flag, instant, mapping, name
from clearhold.features.core.entries.directory import SkipReason
from clearhold.features.core.vocabulary import VerificationStatus


class AgentItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An agent of a registry. ``wallet`` is a key from ``reading.wallet_key``, None when it is not set."""

    entity_id: str
    chain_id: int
    registry: str
    agent_id: str
    name: str
    owner: str | None
    wallet: str | None
    active: bool | None
    registered_at: int | None
    owner_changed_at: int | None
    updated_at: int | None
    feedback_count: int | None
    paid_feedback_count: int | None
    revoked_feedback_count: int | None
    starred_count: int | None
    starred_mean: int | None
    validation_count: int | None
    validation_mean: int | None


class ProfileItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The compliance profile of a wallet. ``screening`` is None for one that was never screened."""

    wallet: str
    verification_status: str | None
    screening: str | None
    screened_at: int | None


class SettlementItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A payment. ``payer`` and ``pay_to`` are keys of wallets, ``agent`` and ``payer_agent`` ids of entities."""

    transfer_id: str
    payer: str
    pay_to: str
    settled_at: int
    status: str
    units: int
    agent: str | None
    payer_agent: str | None

    @property
    def cents(self) -> int:
        """Rounded half up."""
        return cents_of(self.units)


def cents_of(units: int) -> int:
    """Cents of a number of units, rounded half up: sums are taken over units, so that micropayments add up.

    >>> cents_of(4_999), cents_of(5_000), cents_of(2_500_000)
    (0, 1, 250)
    """
    return (units + 5_000) // 10_000


USDC_CONTRACTS: Final = frozenset(
    {
        "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",  # Ethereum
        "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",  # Base
        "0xaf88d065e77c8cc2239327c5edb3a432268e5831",  # Arbitrum
        "0x0b2c639c533813f4aa9d7837caf62653d097ff85",  # OP
        "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359",  # Polygon
        "0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e",  # Avalanche
        "0xceba9300f2b948710d2653dd7b07f33a8b32118c",  # Celo
        "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",  # Solana
    }
)
"""By contract, because anyone may name a token USDC. Tokens of test networks are worth nothing and left out."""

USDC_DECIMALS: Final = 6
MAX_UNITS: Final = 10**18
MAX_CHAIN_ID: Final = 2**53
MAX_COUNT: Final = 2**53
SCREENINGS: Final = ("clear", "hit", "review", "not_covered")
STATUSES: Final = ("pending", "confirmed", "dropped")
ENTITY_PREFIX: Final = "agent"
TRANSFER_PREFIX: Final = "x402"
WALLET_PREFIX: Final = "wallet"
STARRED: Final = "starred"

_ADDRESS: Final = re.compile(r"[0-9A-Za-z]{3,128}", re.ASCII)
_DIGITS: Final = re.compile(r"0|[1-9][0-9]{0,77}", re.ASCII)
_MEAN: Final = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,18})?", re.ASCII)
_HEX: Final = "0x"
_VERIFICATIONS: Final = frozenset(VerificationStatus)
_DECODE: Final = msgspec.json.Decoder().decode
_NO_ITEM: Final[dict[str, Any]] = {}


def read_agent(body: bytes) -> AgentItem | SkipReason:
    data = _object(body)
    key = _agent_key(data)
    if key is None:
        return SkipReason.MALFORMED
    chain_id, registry, agent_id = key
    reputation, validation = mapping(data.get("reputation")), mapping(data.get("validation"))
    starred = _starred(reputation.get("byTag"))
    wallet = _address(data.get("wallet"))
    return AgentItem(
        entity_id=entity_id_of(chain_id, registry, agent_id),
        chain_id=chain_id,
        registry=registry,
        agent_id=agent_id,
        name=name(data.get("name")) or f"agent {agent_id}",
        owner=_set_address(data.get("owner")),
        wallet=None if wallet is None or _is_zero(wallet) else wallet_key(chain_id, wallet),
        active=flag(data.get("active")),
        registered_at=instant(data.get("registeredAt")),
        owner_changed_at=instant(data.get("ownerChangedAt")),
        updated_at=instant(data.get("updatedAt")),
        feedback_count=_count(reputation.get("count")),
        paid_feedback_count=_count(reputation.get("paidCount")),
        revoked_feedback_count=_count(reputation.get("revoked")),
        starred_count=_count(starred.get("count")),
        starred_mean=_mean(starred.get("mean")),
        validation_count=_count(validation.get("count")),
        validation_mean=_mean(validation.get("mean")),
    )


def read_profile(body: bytes) -> ProfileItem | SkipReason:
    data = _object(body)
    chain_id, address = _chain_id(data.get("chainId")), _set_address(data.get("address"))
    screening = data.get("screeningStatus")
    if chain_id is None or address is None or (screening is not None and screening not in SCREENINGS):
        return SkipReason.MALFORMED
    status = data.get("verificationStatus")
    return ProfileItem(
        wallet=wallet_key(chain_id, address),
        verification_status=status if isinstance(status, str) and status in _VERIFICATIONS else None,
        screening=screening,
        screened_at=instant(data.get("screenedAt")),
    )


def read_settlement(body: bytes) -> SettlementItem | SkipReason:
    data = _object(body)
    chain_id, tx_hash, log_index = _chain_id(data.get("chainId")), _address(data.get("txHash")), data.get("logIndex")
    payer, pay_to = _set_address(data.get("payer")), _set_address(data.get("payTo"))
    settled_at, status = instant(data.get("settledAt")), data.get("status")
    if chain_id is None or tx_hash is None or _count(log_index) is None or payer is None or pay_to is None:
        return SkipReason.MALFORMED
    key = f"{chain_id}:{tx_hash}:{log_index}"
    stated = data.get("id")
    if settled_at is None or status not in STATUSES or (stated is not None and _folded(stated) != key.lower()):
        return SkipReason.MALFORMED
    agent, payer_agent = data.get("agent"), data.get("payerAgent")
    agent_id, payer_agent_id = _entity_id(agent), _entity_id(payer_agent)
    if agent is not None and agent_id is None:
        return SkipReason.MALFORMED
    units = _units(data)
    if isinstance(units, SkipReason):
        return units
    return SettlementItem(
        transfer_id=f"{TRANSFER_PREFIX}:{key}",
        payer=wallet_key(chain_id, payer),
        pay_to=wallet_key(chain_id, pay_to),
        settled_at=settled_at,
        status=status.upper(),
        units=units,
        agent=agent_id,
        payer_agent=payer_agent_id,
    )


def _units(data: dict[str, Any]) -> int | SkipReason:
    """The amount in units, of tokens known to be worth a dollar alone, because no rate is invented."""
    amount = data.get("amountAtomic")
    if not isinstance(amount, str) or _DIGITS.fullmatch(amount) is None:
        return SkipReason.MALFORMED
    if _address(data.get("asset")) not in USDC_CONTRACTS:
        return SkipReason.UNKNOWN_ASSET
    units = int(amount)
    return SkipReason.MALFORMED if data.get("decimals") != USDC_DECIMALS or units > MAX_UNITS else units


def entity_id_of(chain_id: int, registry: str, agent_id: str) -> str:
    """The id of an agent's entity: an agent id is unique only within its registry and chain."""
    return f"{ENTITY_PREFIX}:{chain_id}:{registry}:{agent_id}"


def wallet_key(chain_id: int, address: str) -> str:
    return f"{chain_id}:{address}"


def counterparty_id_of(wallet: str) -> str:
    """The id of the counterparty that stands for a paying wallet."""
    return f"{WALLET_PREFIX}:{wallet}"


def address_of(wallet: str) -> str:
    return wallet.rpartition(":")[2]


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = _DECODE(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _NO_ITEM
    return value if isinstance(value, dict) else _NO_ITEM


def _agent_key(data: dict[str, Any]) -> tuple[int, str, str] | None:
    chain_id, registry, agent_id = _chain_id(data.get("chainId")), _address(data.get("registry")), data.get("agentId")
    if chain_id is None or registry is None or not isinstance(agent_id, str) or _DIGITS.fullmatch(agent_id) is None:
        return None
    return chain_id, registry, agent_id


def _entity_id(value: object) -> str | None:
    key = _agent_key(mapping(value))
    return None if key is None else entity_id_of(*key)


def _chain_id(value: object) -> int | None:
    return value if type(value) is int and 0 < value <= MAX_CHAIN_ID else None


def _address(value: object) -> str | None:
    """EVM addresses and hashes compare without regard to case, all others with it."""
    if not isinstance(value, str) or _ADDRESS.fullmatch(value) is None:
        return None
    return value.lower() if value[:2].lower() == _HEX else value


def _set_address(value: object) -> str | None:
    address = _address(value)
    return None if address is None or _is_zero(address) else address


def _is_zero(address: str) -> bool:
    """The zero address means that none is set."""
    return address.startswith(_HEX) and not address[2:].strip("0")


def _folded(value: object) -> str | None:
    return value.lower() if isinstance(value, str) else None


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= MAX_COUNT else None


def _starred(by_tag: object) -> dict[str, Any]:
    """The feedback under the one tag with a fixed scale; means of different tags are never combined."""
    for each in by_tag if isinstance(by_tag, list) else ():
        feedback = mapping(each)
        if feedback.get("tag") == STARRED:
            return feedback
    return _NO_ITEM


def _mean(value: object) -> int | None:
    """A mean, sent as a string like all amounts, rounded down so that a mean below a whole number stays below it."""
    if not isinstance(value, str) or _MEAN.fullmatch(value) is None:
        return None
    return int(Decimal(value).to_integral_value(ROUND_FLOOR))
