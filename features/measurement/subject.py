"""The subject of a measurement: one transfer, landed or proposed, and its contribution to the windows."""

from typing import Final

import msgspec

from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.windows.edges import NOBODY
from clearhold.features.windows.series_kinds import SeriesKind


class OwnContribution(msgspec.Struct, frozen=True, gc=False):
    """The contribution of a transfer that is measured again, so that it does not count itself."""

    actor: Actor | None = None
    counterparty: KnownCounterparty | None = None
    cents: int | None = 0
    moved: bool = False
    originated: bool = False  # an ACH debit that the program sent
    returned_at: int | None = None
    unauthorized: bool = False  # this and the next two: the kinds of its return
    stop: bool = False
    frozen: bool = False
    kinds: tuple[SeriesKind, ...] = ()
    card: int = NOBODY
    attempts: tuple[SeriesKind, ...] = ()
    row: int = NOBODY


NO_CONTRIBUTION: Final = OwnContribution()
STRANGER: Final = -2
"""Stands for a side that is named and has no node: different from every node."""


class Subject(msgspec.Struct, frozen=True, gc=False):
    """The transfer to measure. ``counterparty`` is None for a stranger and when none was named."""

    rail: str
    direction: str
    type: str | None
    cents: int | None  # US cents
    status: str | None
    country: str | None
    card_reason: str | None
    sec_code: str | None
    actor: Actor | None
    counterparty: KnownCounterparty | None
    counterparty_named: bool
    account_changed: bool
    source: int  # nodes of the graph; -1 when the side is unknown or has no transfer yet
    target: int
    payer: int | None  # the same, but ``STRANGER`` for a named side without a node, and None for an unknown side
    payee: int | None
    kinds: tuple[SeriesKind, ...]  # the series that count it; an attempt is in no series
    card: int  # the key that a card attempt is counted under; -1 when unknown
    account: tuple[str | None, str | None] | None  # routing number and last four of the counterparty
    moved: bool  # False for an attempt, which counts itself in no window but those of card attempts
    own: OwnContribution = NO_CONTRIBUTION
