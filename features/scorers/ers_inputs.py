"""The inputs of the entity scorer."""

import msgspec


class EntityInputs(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The inputs of ers-v1. None is not measured: the bank has not stated it."""

    transfers_90d: int
    transfer_score: int = 0  # of the transfer with the most points today
    transfer_score_days: int = 0  # its age
    transfer_identity_points: int = 0  # its points from the entity's identity and returns
    transfer_returns_points: int = 0
    verification_status: str | None = None
    pep_status: str | None = None
    is_high_risk: bool | None = None
    requires_screening: bool | None = None
    screening_age_days: int | None = None
    rescreen_days: int | None = None
    fraud_risk: bool | None = None
    returns_30d: int = 0
    ach_debits_30d: int = 0
    unauthorized_returns_60d: int = 0
    probed_counterparties_30d: int = 0
