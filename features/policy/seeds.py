"""The policies that every tenant starts with: documented defaults, in force until others are activated.

Source  all [P], proposed here; ``docs/policies.md`` gives the reasons
"""

from typing import Final

from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.canonical import POLICY_IDS
from clearhold.features.core.entries.actions import ActionType
from clearhold.features.core.instants import format_instant
from clearhold.features.core.vocabulary import Band
from clearhold.features.policy.bodies import (
    BandCaps,
    Body,
    ClockPolicy,
    CountryList,
    KriBody,
    KriLine,
    Ladder,
    LimitLadder,
    NarrativeChars,
    PolicyBody,
    PolicyVersion,
    RescreenDays,
    RetentionBody,
    ThresholdsBody,
)

POLICY_VERSION: Final = "policy-v1"
CLOCK_VERSION: Final = "clock-v1"
LADDER_VERSION: Final = "ladder-v1"
THRESHOLDS_VERSION: Final = "thresholds-v1"
KRI_VERSION: Final = "kri-v1"
RETENTION_VERSION: Final = "retention-v1"

POLICY_V1: Final = PolicyBody(
    version=POLICY_VERSION,
    auto_closable_detectors=(
        "amount_spike",
        "first_time_counterparty_large",
        "new_counterparty_burst",
        "repeated_amount",
        "round_amount",
        "velocity_spike",
    ),
    auto_close_bands=(Band.CLEAR,),
    min_program_n=200,
    always_reviewed=(
        "funnel_mule",
        "high_risk_geography",
        "kyc_denied_moving",
        "program_limit_breach",
        "reserve_shortfall",
        "structuring_pattern",
        "unauthorized_return_rate",
    ),
    two_approver_actions=(ActionType.FREEZE_ACCOUNT, ActionType.REQUEST_TO_PROGRAM, ActionType.SUSPEND_CARD_ACCOUNT),
    hold_band_auto_hold=True,
    min_narrative_chars=NarrativeChars(hard=20, high=0, medium=0, low=0),
    hard_needs_second_person=False,
)
CLOCK_V1: Final = ClockPolicy(auto_hours=1, standard_hours=24, complex_hours=72, appeal_hours=72)
_NO_MORE_THAN_KNOWN: Final = BandCaps(per_transaction_cents="1000000", daily_cents="2500000", monthly_cents="25000000")
_NOTHING: Final = BandCaps(per_transaction_cents="0", daily_cents="0", monthly_cents="0")
LADDER_V1: Final = LimitLadder(
    entity=Ladder(
        clear=BandCaps(per_transaction_cents="25000000", daily_cents="50000000", monthly_cents="500000000"),
        review=BandCaps(per_transaction_cents="5000000", daily_cents="10000000", monthly_cents="100000000"),
        hold=_NOTHING,
        unscored=_NO_MORE_THAN_KNOWN,
    ),
    counterparty=Ladder(
        clear=BandCaps(per_transaction_cents="25000000", daily_cents="50000000", monthly_cents="500000000"),
        review=BandCaps(per_transaction_cents="2500000", daily_cents="5000000", monthly_cents="50000000"),
        hold=_NOTHING,
        unscored=_NO_MORE_THAN_KNOWN,
    ),
    rescreen_days=RescreenDays(clear=365, review=180, hold=30, unscored=180),
)
THRESHOLDS_V1: Final = ThresholdsBody(
    # 31 CFR 1010.410 and 1020.410 (funds transfer record and travel rule) and 31 CFR 1010.311 (currency reports).
    structuring_thresholds_cents=("300000", "1000000"),
    call_for_action=CountryList(
        as_of="2026-06-19",
        source="FATF, High-Risk Jurisdictions subject to a Call for Action, 13 February and 19 June 2026",
        countries=("IR", "KP", "MM"),
    ),
    # The Syrian program ended on the first day of this list (Executive Order 14312); regions have no ISO code.
    comprehensively_sanctioned=CountryList(
        as_of="2025-07-01",
        source="OFAC country programs: 31 CFR parts 510 (KP), 515 (CU) and 560 (IR)",
        countries=("CU", "IR", "KP"),
    ),
    increased_monitoring=CountryList(
        as_of="2026-06-19",
        source="FATF, Jurisdictions under Increased Monitoring, 19 June 2026",
        countries=(
            *("AO", "BA", "BG", "BO", "CD", "CI", "CM", "HT", "IQ", "KE", "KW"),
            *("LA", "LB", "MC", "NP", "PG", "SS", "SY", "VE", "VG", "VN", "YE"),
        ),
    ),
)
_LINES: Final = {  # watch and breach; those of KRIs 1 to 3 are Nacha's limits, watched from 80 % of them
    KriName.ACH_UNAUTHORIZED_RETURN_RATE: (0.004, 0.005),
    KriName.ACH_ADMINISTRATIVE_RETURN_RATE: (0.024, 0.03),
    KriName.ACH_OVERALL_RETURN_RATE: (0.12, 0.15),
    KriName.ACH_CREDIT_RETURN_RATE: (0.03, 0.05),
    KriName.RESERVE_COVERAGE: (1.25, 1),
    KriName.REVIEW_AGING_HOURS: (0.75, 1),
    KriName.HOLD_AGING_HOURS: (0.75, 1),
    KriName.OVERDRAFT_EVENTS: (1, 3),
    KriName.FREEZE_EVENTS: (1, 2),
    KriName.VOLUME_VELOCITY: (2, 3),
    KriName.DECLARED_VOLUME_USE: (0.8, 1),
    KriName.COUNTERPARTY_CONCENTRATION: (0.25, 0.4),
    KriName.VERIFICATION_DENIAL_RATE: (0.05, 0.1),
    KriName.CARD_DECLINE_RATE: (0.15, 0.3),
    KriName.CARD_FRAUD_DECLINE_SHARE: (0.05, 0.1),
    KriName.OUTSIDE_DECLARED_SHARE: (0, 0.01),
    KriName.HOLD_SHARE: (0.02, 0.05),
    KriName.STALE_SCREENING_SHARE: (0.05, 0.1),
}
KRI_V1: Final = KriBody(
    lines=tuple(KriLine(kri=name, watch=watch, breach=breach) for name, (watch, breach) in _LINES.items()),
    # A debit network's order of magnitude; above it, a program's own rates count.
    fleet_overall_return_rate=0.015,
    fleet_unauthorized_return_rate=0.0003,
)
RETENTION_V1: Final = RetentionBody(tables=())
SEEDS: Final[tuple[tuple[str, Body], ...]] = (
    (POLICY_VERSION, POLICY_V1),
    (CLOCK_VERSION, CLOCK_V1),
    (LADDER_VERSION, LADDER_V1),
    (THRESHOLDS_VERSION, THRESHOLDS_V1),
    (KRI_VERSION, KRI_V1),
    (RETENTION_VERSION, RETENTION_V1),
)


def policy_id_of(tenant_id: str, version: str) -> str:
    """The id of a policy: a tenant has each version once."""
    return POLICY_IDS.id_of(f"{tenant_id}/{version}")


def seeded_policies(tenant_id: str, at: int) -> tuple[PolicyVersion, ...]:
    """The policies of a new tenant, active since ``at``; their ids follow from the tenant and the version."""
    return tuple(
        PolicyVersion(
            id=policy_id_of(tenant_id, version),
            tenant_id=tenant_id,
            program_id=None,
            version=version,
            body=body,
            active=True,
            created_at=format_instant(at),
        )
        for version, body in SEEDS
    )
