"""Backtests: what a rule would have done to stored transfers. The record of one is bound to the rule's digest.

Unit    ``at`` and instants are text as the interface shows them; ``days`` before ``at`` were replayed
"""

from typing import Final

import msgspec

MOST_DAYS: Final = 90
"""As far back as a backtest goes, and as far as the one behind an activation has to go."""


class Backtest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``rule_sha256`` is the digest of the rule that was tested (``rule_hash``), whatever was written since."""

    key: str
    rule_id: str
    rule_sha256: str
    at: str
    days: int
    scanned: int
    sampled: bool
    matched: int
    matched_share: float | None
    would_hold: int
    would_alert: int
    overlap_with_existing_alerts: int
    by_band: dict[str, int]
    sample_transfer_ids: tuple[str, ...]


class ShadowReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a rule in testing has matched in live traffic since it came into shadow with its present text."""

    rule_id: str
    rule_sha256: str
    version: str | None
    since: str | None
    matched: int
