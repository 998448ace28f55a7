"""The inputs of the counterparty scorer."""

import msgspec


class CounterpartyInputs(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The inputs of crs-v1. None is not measured, or never happened."""

    transfers: int
    transfers_60d: int = 0
    returns: int = 0
    returns_60d: int = 0
    unauthorized_returns_60d: int = 0
    shared_entities_30d: int = 0
    relationship_days: int | None = None
    account_changed_days: int | None = None
    country: str | None = None
    country_lists: str | None = None  # of the thresholds in force, comma-separated
    thresholds_version: str | None = None
