"""The policies that every tenant starts with: documented defaults, in force until others are activated; and the least
that a policy may say on how long the lake for analysts keeps the days of each of its tables.

The record, the database and the log's segments are kept for good under every policy: retention is about the copy that
analysts read. A table that no policy names is kept.

Unit    of retention: days after the UTC day on which the log took a row in; None is kept for good
Source  all [P], proposed here; ``docs/policies.md`` gives the reasons. Of retention 31 CFR 1010.430(d): records are
        kept for five years. 31 CFR 1020.220(a)(3)(ii): what identifies a customer is kept until five years after the
        account is closed, so the day of a row says nothing there
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

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


FIVE_YEARS_DAYS: Final = 1_827  # two of them may be leap years
LONGEST_WINDOW_DAYS: Final = 90  # of features, of backtests and of the ready questions


class Floor(NamedTuple):
    """The fewest days for which a table may be kept; None where no number of days is right, and why."""

    days: int | None
    why: str


_LAW: Final = Floor(FIVE_YEARS_DAYS, "31 CFR 1010.430 has records of transactions and decisions kept for five years")
_WINDOW: Final = Floor(LONGEST_WINDOW_DAYS, "features, backtests and ready questions look back over 90 days")
_CURRENT: Final = Floor(
    None, "its rows are written when something changes, so an old row may be the current one; it has no end by days"
)
_WHOLE: Final = Floor(None, "it is written whole when it changes, and has no days that could end")
_TABLES: Final[Mapping[Floor, tuple[str, ...]]] = {
    _LAW: (
        *("transfer_versions", "alert_versions", "dispositions", "action_versions", "label_versions"),
        *("alert_notes", "alert_assignments"),
    ),
    _WINDOW: (
        *("events", "transfer_features", "transfer_reasons", "shadow_scores", "rule_matches"),
        *("preflights", "preflight_matches", "directory_fetches", "kri_snapshots", "metrics_days"),
    ),
    _CURRENT: (
        *("entity_versions", "counterparty_versions", "account_versions", "program_versions", "agent_versions"),
        *("actor_score_versions", "policies"),
    ),
    _WHOLE: ("tenants", "policy_versions", "scorecard_reports", "rules", "rule_backtests"),
}
FLOORS: Final[Mapping[str, Floor]] = {table: floor for floor, tables in _TABLES.items() for table in tables}
"""By table of the lake, all of them."""


def longest_of(bodies: Iterable[RetentionBody]) -> Mapping[str, int]:
    """The days by table when banks share a lake, whose files have rows of all of them: no bank's rows end before its
    own policy says. A table that one of them keeps for good is left out.

    >>> longest_of([RetentionBody(tables=())])
    {}
    """
    named = [{each.table: each.days for each in body.tables} for body in bodies]
    longest: dict[str, int] = {}
    for table in named[0] if named else ():
        days = [each.get(table) for each in named]
        ends = [each for each in days if each is not None]
        if len(ends) == len(days):
            longest[table] = max(ends)
    return longest
