"""The items of a scan index, ``scan-index/1``, as far as they can be used. None: not stated.

Unit    instants in microseconds; ``units`` are millionths of a US dollar
"""

import msgspec


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
