"""Detectors of parties and their past: strangers, returns, identity, places and cards.

Source  the reasons' own (``docs/reasons.md``); windows and what conditions add are [P]
"""

from typing import Final

from features.catalogue.thresholds import CALL_FOR_ACTION, COMPREHENSIVELY_SANCTIONED, INCREASED_MONITORING
from features.core.instants import DAYS_7, DAYS_30, DAYS_60, HOURS_24, HOURS_48
from features.detectors.conditions import (
    UNAUTHORIZED_RETURN,
    UNAUTHORIZED_RETURNS,
    UNVERIFIED_7D_CENTS,
    grade_unverified,
    returning_counterparty_subject,
    returning_entity_subject,
)
from features.detectors.detector import HARD, HIGH, LOW, MEDIUM, MEDIUM_HARD, ONCE, Detector, Trigger
from features.detectors.subjects import (
    account_subject,
    actor_subject,
    program_subject,
    shared_account_subject,
    transfer_subject,
)
from features.scorers.trs_v1 import card as trs_v1_card
from features.scorers.trs_v1 import geography as trs_v1_place
from features.scorers.trs_v1 import identity as trs_v1_identity
from features.scorers.trs_v1 import relationship as trs_v1_relationship
from features.scorers.trs_v1 import returns as trs_v1_returns

_RELATIONSHIP: Final = (
    Detector(
        "first_time_counterparty_large",
        "A large first transfer with a counterparty.",
        (Trigger(trs_v1_relationship.FIRST_TIME_LARGE.id, transfer_subject, MEDIUM, ONCE),),
        ("counterparty_first_time", "counterparty_n", "program_p95_cents"),
        {"floorCents": trs_v1_relationship.LARGE_FIRST_CENTS},
    ),
    Detector(
        "new_counterparty_burst",
        "Many strangers of one entity in a day.",
        (Trigger(trs_v1_relationship.BURST.id, actor_subject, MEDIUM, HOURS_24),),
        ("entity_new_counterparties_24h", "velocity_24h_count"),
        {"count24h": trs_v1_relationship.NEW_COUNTERPARTIES},
    ),
    Detector(
        "counterparty_shared",
        "Several entities deal with one account.",
        (Trigger(trs_v1_relationship.SHARED.id, shared_account_subject, HIGH, DAYS_30),),
        ("counterparty_shared_entities_30d", "counterparty_n"),
        {"entities30d": trs_v1_relationship.SHARING_ENTITIES},
    ),
)
_RETURNS: Final = (
    Detector(
        "return_code_abuse",
        "Many returns for the debits made, accounts probed, or a debit repeated after an unauthorized return.",
        (
            Trigger(trs_v1_returns.ABUSE.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(trs_v1_returns.PROBING.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(trs_v1_returns.REDEBIT.id, actor_subject, HARD, DAYS_30),
        ),
        (
            "entity_returns_30d",
            "entity_ach_debits_30d",
            "entity_probing_returns_30d",
            "counterparty_stop_return_days",
            "entity_prior_returns",
        ),
        {
            "returns30d": trs_v1_returns.RETURNS_FLOOR,
            "sharePercent": trs_v1_returns.RETURNS_SHARE_PERCENT,
            "probed30d": trs_v1_returns.PROBED_COUNTERPARTIES,
            "redebitDays": trs_v1_returns.REDEBIT_DAYS,
        },
    ),
    Detector(
        UNAUTHORIZED_RETURN,
        "The second unauthorized return of an entity in 60 days, or of a counterparty.",
        (
            Trigger(trs_v1_returns.UNAUTHORIZED.id, returning_entity_subject, HIGH, DAYS_60),
            Trigger(trs_v1_returns.UNAUTHORIZED.id, returning_counterparty_subject, HIGH, DAYS_60),
        ),
        ("entity_unauthorized_returns_60d", "counterparty_prior_unauthorized_returns", "entity_ach_debits_60d"),
        {"returns": UNAUTHORIZED_RETURNS},
    ),
    Detector(
        "ach_float",
        "What was pulled by ACH debits leaves before they can come back.",
        (Trigger(trs_v1_returns.FLOAT.id, actor_subject, HIGH, HOURS_48),),
        ("entity_pulled_cents_2bd", "entity_fast_out_cents_2bd", "entity_age_days", "entity_ach_debits_all"),
        {"percent": trs_v1_returns.FLOAT_PERCENT, "youngDays": trs_v1_returns.FLOAT_YOUNG_DAYS},
    ),
)
_IDENTITY: Final = (
    Detector(
        "kyc_denied_moving",
        "A denied entity moves money.",
        (Trigger(trs_v1_identity.DENIED.id, actor_subject, HARD, DAYS_7),),
        ("entity_verification_status",),
        {},
    ),
    Detector(
        "kyc_unverified_moving",
        "An entity whose verification is not finished moves at least $1,000 in 7 days.",
        (Trigger(trs_v1_identity.UNVERIFIED.id, actor_subject, MEDIUM, DAYS_7, grade_unverified),),
        ("entity_verification_status", "velocity_24h_sum_cents"),
        {"sum7dCents": UNVERIFIED_7D_CENTS},
    ),
    Detector(
        "screening_stale_or_hit",
        "A politically exposed, high-risk, unscreened or long unscreened entity, or a sanctions match of the review.",
        (
            Trigger(trs_v1_identity.PEP.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(trs_v1_identity.PEP_POTENTIAL.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(trs_v1_identity.HIGH_RISK.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(trs_v1_identity.NEVER_SCREENED.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(trs_v1_identity.SCREENING_STALE.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(trs_v1_identity.SANCTIONS.id, actor_subject, MEDIUM_HARD, DAYS_30),
        ),
        (
            "entity_pep_status",
            "entity_is_high_risk",
            "entity_requires_screening",
            "entity_screening_age_days",
            "entity_sanctions_hit",
        ),
        {"cadenceDays": trs_v1_identity.SCREENING_CADENCE_DAYS},
    ),
)
_PLACE: Final = (
    Detector(
        "high_risk_geography",
        "The counterparty's country is on a regulator's list; the increased-monitoring list gives a low alert.",
        (
            Trigger(trs_v1_place.CALLED.id, transfer_subject, HARD, ONCE),
            Trigger(trs_v1_place.SANCTIONED.id, transfer_subject, HARD, ONCE),
            Trigger(trs_v1_place.MONITORED.id, transfer_subject, LOW, ONCE),
        ),
        ("counterparty_country",),
        {
            "callForActionAsOf": CALL_FOR_ACTION.as_of,
            "sanctionedAsOf": COMPREHENSIVELY_SANCTIONED.as_of,
            "increasedMonitoringAsOf": INCREASED_MONITORING.as_of,
        },
    ),
    Detector(
        "country_outside_declared",
        "A country that the program did not declare; one more alert a day on the program.",
        (
            Trigger(trs_v1_place.OTHER_COUNTRY.id, transfer_subject, MEDIUM, ONCE),
            Trigger(trs_v1_place.OTHER_COUNTRY.id, program_subject, MEDIUM, HOURS_24),
        ),
        ("counterparty_country", "declared_countries"),
        {},
    ),
    Detector(
        "rail_outside_declared",
        "A rail that the program did not declare; one more alert a day on the program.",
        (
            Trigger(trs_v1_place.OTHER_RAIL.id, transfer_subject, MEDIUM, ONCE),
            Trigger(trs_v1_place.OTHER_RAIL.id, program_subject, MEDIUM, HOURS_24),
        ),
        ("declared_rails",),
        {},
    ),
)
_CARD: Final = (
    Detector(
        "card_testing",
        "One card tried again and again; hard when many cards are tried at one program.",
        (
            Trigger(trs_v1_card.TESTING.id, account_subject, HIGH, HOURS_24),
            Trigger(trs_v1_card.TESTING_PROGRAM.id, program_subject, HARD, HOURS_24),
        ),
        (
            "card_declines_1h",
            "card_small_count_1h",
            "program_card_attempts_1h",
            "program_card_declines_1h",
            "program_card_small_count_1h",
        ),
        {
            "declines1h": trs_v1_card.CARD_DECLINES,
            "small1h": trs_v1_card.CARD_SMALL_COUNT,
            "programAttempts1h": trs_v1_card.PROGRAM_ATTEMPTS,
            "programDeclinedPercent": trs_v1_card.PROGRAM_DECLINED_PERCENT,
        },
    ),
    Detector(
        "card_decline_mix",
        "More of a program's card attempts are declined for fraud than usual.",
        (Trigger(trs_v1_card.DECLINE_MIX.id, program_subject, MEDIUM, HOURS_24),),
        (
            "program_card_attempts_24h",
            "program_card_fraud_declines_24h",
            "program_card_attempts_30d",
            "program_card_fraud_declines_30d",
        ),
        {
            "attempts24h": trs_v1_card.MIX_ATTEMPTS,
            "percent": trs_v1_card.MIX_PERCENT,
            "factor": trs_v1_card.MIX_FACTOR,
        },
    ),
)

ON_PARTIES: Final = (*_RELATIONSHIP, *_RETURNS, *_IDENTITY, *_PLACE, *_CARD)
