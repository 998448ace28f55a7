"""What the entity scorer looks at."""

import msgspec


class EntityInputs(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """All that ers-v1 may look at. None is not measured: the bank has not said it."""

    transfers_90d: int
    transfer_score: int = 0  # of the transfer that counts most today
    transfer_score_days: int = 0  # its age
    transfer_identity_points: int = 0  # how much of it the entity's identity and returns had given
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
