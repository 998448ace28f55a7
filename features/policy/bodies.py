"""Policies: versioned data on what may be decided without a person, by when, and how much may move.

Unit    hours of clocks may be fractions; caps are cents as strings of digits, None is no cap
"""

from functools import lru_cache

import msgspec

from features.core.canonical import canonical, digest_of
from features.core.vocabulary import Band


class PolicyBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The alerts that the platform may close without a person."""

    version: str
    auto_closable_detectors: tuple[str, ...]
    auto_close_bands: tuple[Band, ...]
    min_program_n: int
    always_reviewed: tuple[str, ...]
    two_approver_actions: tuple[str, ...]
    hold_band_auto_hold: bool


class ClockPolicy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long an alert may wait for its decision, by tier."""

    auto_hours: float
    standard_hours: float
    complex_hours: float
    appeal_hours: float


class BandCaps(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The most that an actor in one band may move out."""

    per_transaction_cents: str | None
    daily_cents: str | None
    monthly_cents: str | None


class Ladder(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The caps of each band."""

    clear: BandCaps
    review: BandCaps
    hold: BandCaps
    unscored: BandCaps


class RescreenDays(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """After how many days an actor is screened again."""

    clear: int
    review: int
    hold: int
    unscored: int


class LimitLadder(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Caps of counterparties and entities by band, and how often each band is screened again."""

    counterparty: Ladder
    entity: Ladder
    rescreen_days: RescreenDays


Body = PolicyBody | ClockPolicy | LimitLadder


class PolicyVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A policy as recorded; the prefix of ``version`` says which body it carries."""

    id: str
    tenant_id: str
    program_id: str | None
    version: str
    body: Body
    active: bool
    created_at: str


@lru_cache(maxsize=64)
def policy_sha256(body: Body) -> str:
    """The digest that dispositions cite a policy by."""
    return digest_of(canonical(body))
