"""Agent Risk Score, ars-v1: the payments to an on-chain agent, its own statements, and the statements of others.

Unit    points 0-100, integers; None below 10 settlements
n       the agent's settlements, ever
Window  its newest 64 settlements of 90 days for payers; 24 hours against its own 30 days for frequency
Errors  none: all inputs have an answer; a wallet that was never screened halves the confidence
Source  ERC-8004 (draft) for the content of a registry; FATF, Virtual Assets Red Flag Indicators (2020) for the flows
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from clearhold.features.core.vocabulary import VerificationStatus
from clearhold.features.scorers.engine import checks, default_card
from clearhold.features.scorers.signal import Family, Scorer, Signal, SignalGroup

VERSION: Final = "ars-v1"
SETTLEMENTS_FLOOR: Final = 10
TOP_PAYER_PERCENT: Final = 80
SELF_DEALING_PERCENT: Final = 20
ROUND_TRIPS_REPEATED: Final = 3
VELOCITY_FLOOR: Final = 5
VELOCITY_HISTORY_FLOOR: Final = 10
VELOCITY_FACTOR: Final = 3
YOUNG_DAYS: Final = 30
OWNER_CHANGE_DAYS: Final = 30
FEEDBACK_FLOOR: Final = 5
REVOKED_PERCENT: Final = 20
UNPAID_FEEDBACK_FLOOR: Final = 10
PAID_PERCENT: Final = 10
WELL_PAID_FEEDBACK: Final = 10
HALF_OF_THE_SCALE: Final = 50
_DAYS_30: Final = 30
_ERC_8004: Final = "ERC-8004 (draft); weight [P]"
_FATF: Final = "FATF, Virtual Assets Red Flag Indicators, 2020; figures [P]"
_OFAC: Final = "OFAC SDN list, digital currency addresses; weight [P]"


class AgentInputs(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The inputs of ars-v1. None is unknown: the scan index did not state it."""

    settlements: int
    volume_cents: int = 0
    settlements_24h: int = 0
    settlements_30d: int = 0
    recent_settlements: int = 0  # the newest 64 of 90 days, the base of the next three
    distinct_payers: int = 0
    top_payer_settlements: int = 0
    self_dealing_settlements: int | None = None  # paid by the owner, or by agents of the same owner
    round_trips_30d: int | None = None  # payers that are agents and were paid by this one
    listed_payer_settlements: int = 0  # paid from wallets on a sanctions list
    verification_status: str | None = None
    registration_age_days: int | None = None
    owner_changed_days: int | None = None
    active: bool | None = None
    has_wallet: bool | None = None
    feedback_count: int | None = None
    paid_feedback_count: int | None = None  # with a payment proof that matches a settlement
    revoked_feedback_count: int | None = None
    starred_count: int | None = None  # one tag alone: means of different tags are never combined
    starred_mean: int | None = None
    validation_count: int | None = None
    validation_mean: int | None = None
    wallet_screening: str | None = None  # clear, hit, review or not_covered; None is never screened


_FLOW_SIGNALS: Final[Mapping[Signal[AgentInputs], int]] = {
    Signal(
        "ARS-FLO-01",
        "top_payer_share",
        f"One payer stands for {TOP_PAYER_PERCENT} % or more of the newest settlements.",
        lambda i: (
            i.recent_settlements >= SETTLEMENTS_FLOOR
            and i.top_payer_settlements * 100 >= TOP_PAYER_PERCENT * i.recent_settlements
        ),
        lambda i, _: (
            f"{i.top_payer_settlements} of the newest {i.recent_settlements} settlements come from one of "
            f"{i.distinct_payers} payers."
        ),
        source=_FATF,
    ): 12,
    Signal(
        "ARS-FLO-02",
        "self_dealing",
        f"{SELF_DEALING_PERCENT} % or more of the newest settlements were paid by the owner or by agents of the owner.",
        lambda i: (
            i.self_dealing_settlements is not None
            and i.self_dealing_settlements > 0
            and i.self_dealing_settlements * 100 >= SELF_DEALING_PERCENT * i.recent_settlements
        ),
        lambda i, _: (
            f"{i.self_dealing_settlements} of the newest {i.recent_settlements} settlements were paid by the agent's "
            "owner, or by agents of the same owner."
        ),
        source=_ERC_8004,
    ): 25,
    Signal(
        "ARS-FLO-03",
        "round_trip",
        "Value came back to the agent's payer in 30 days.",
        lambda i: i.round_trips_30d is not None and 0 < i.round_trips_30d < ROUND_TRIPS_REPEATED,
        lambda i, _: f"Value came back to a payer {i.round_trips_30d} times in 30 days.",
        source=_FATF,
    ): 25,
    Signal(
        "ARS-FLO-04",
        "round_trips_repeated",
        f"Value came back to the agent's payers {ROUND_TRIPS_REPEATED} times or more in 30 days.",
        lambda i: i.round_trips_30d is not None and i.round_trips_30d >= ROUND_TRIPS_REPEATED,
        lambda i, _: f"Value came back to a payer {i.round_trips_30d} times in 30 days.",
        source=_FATF,
        hard=True,
    ): 35,
    Signal(
        "ARS-VEL-01",
        "velocity_spike",
        f"At least {VELOCITY_FACTOR} times as many settlements in 24 h as on a usual day of 30.",
        lambda i: (
            i.settlements_30d >= VELOCITY_HISTORY_FLOOR
            and i.settlements_24h >= VELOCITY_FLOOR
            and i.settlements_24h * _DAYS_30 >= VELOCITY_FACTOR * i.settlements_30d
        ),
        lambda i, _: f"{i.settlements_24h} settlements in 24 hours; {i.settlements_30d} in 30 days.",
    ): 15,
}
"""With the points of the default card, as in the other groups."""
_REGISTRATION_SIGNALS: Final[Mapping[Signal[AgentInputs], int]] = {
    Signal(
        "ARS-REG-01",
        "young_registration",
        f"The agent was registered less than {YOUNG_DAYS} days ago.",
        lambda i: i.registration_age_days is not None and i.registration_age_days < YOUNG_DAYS,
        lambda i, _: f"The agent was registered {i.registration_age_days} days ago.",
    ): 10,
    Signal(
        "ARS-REG-02",
        "owner_changed",
        f"The agent changed its owner within {OWNER_CHANGE_DAYS} days.",
        lambda i: i.owner_changed_days is not None and i.owner_changed_days < OWNER_CHANGE_DAYS,
        lambda i, _: f"The agent changed its owner {i.owner_changed_days} days ago.",
        source=_ERC_8004,
    ): 15,
    Signal(
        "ARS-REG-03",
        "inactive_and_paid",
        "The agent declares itself inactive but receives payments.",
        lambda i: i.active is False and i.settlements_30d > 0,
        lambda i, _: f"The agent declares itself inactive and had {i.settlements_30d} settlements in 30 days.",
        source=_ERC_8004,
    ): 20,
    Signal(
        "ARS-REG-04",
        "wallet_unset",
        "The agent has no wallet set but receives payments.",
        lambda i: i.has_wallet is False and i.settlements_30d > 0,
        lambda i, _: f"The agent has no wallet set and had {i.settlements_30d} settlements in 30 days.",
        source=_ERC_8004,
    ): 20,
}
_REPUTATION_SIGNALS: Final[Mapping[Signal[AgentInputs], int]] = {
    Signal(
        "ARS-REP-01",
        "feedback_revoked",
        f"{REVOKED_PERCENT} % or more of the agent's feedback was revoked.",
        lambda i: (
            i.revoked_feedback_count is not None
            and (i.feedback_count or 0) >= FEEDBACK_FLOOR
            and i.revoked_feedback_count * 100 >= REVOKED_PERCENT * (i.feedback_count or 0)
        ),
        lambda i, _: f"{i.revoked_feedback_count} of {i.feedback_count} feedbacks were revoked.",
        source=_ERC_8004,
    ): 10,
    Signal(
        "ARS-REP-02",
        "feedback_unpaid",
        f"Less than {PAID_PERCENT} % of the agent's feedback proves a payment: it may be its own.",
        lambda i: (
            i.paid_feedback_count is not None
            and (i.feedback_count or 0) >= UNPAID_FEEDBACK_FLOOR
            and i.paid_feedback_count * 100 < PAID_PERCENT * (i.feedback_count or 0)
        ),
        lambda i, _: f"{i.paid_feedback_count} of {i.feedback_count} feedbacks prove a payment.",
        source=_ERC_8004,
    ): 8,
    Signal(
        "ARS-REP-03",
        "poorly_rated",
        f"The mean of the tag starred is under {HALF_OF_THE_SCALE} of 100, over {FEEDBACK_FLOOR} or more.",
        lambda i: (
            i.starred_mean is not None
            and (i.starred_count or 0) >= FEEDBACK_FLOOR
            and i.starred_mean < HALF_OF_THE_SCALE
        ),
        lambda i, _: f"The mean of {i.starred_count} feedbacks under the tag starred is {i.starred_mean} of 100.",
        source=_ERC_8004,
    ): 10,
    Signal(
        "ARS-REP-04",
        "paid_feedback",
        f"At least {WELL_PAID_FEEDBACK} feedbacks prove a payment and none was revoked.",
        lambda i: (i.paid_feedback_count or 0) >= WELL_PAID_FEEDBACK and i.revoked_feedback_count == 0,
        lambda i, _: f"{i.paid_feedback_count} feedbacks prove a payment, none was revoked.",
        source=_ERC_8004,
        mitigates=True,
    ): -5,
    Signal(
        "ARS-VAL-01",
        "validation_failed",
        f"Validators answered with a mean under {HALF_OF_THE_SCALE} of 100.",
        lambda i: (
            i.validation_mean is not None and (i.validation_count or 0) > 0 and i.validation_mean < HALF_OF_THE_SCALE
        ),
        lambda i, _: f"The mean of {i.validation_count} validations is {i.validation_mean} of 100.",
        source=_ERC_8004,
    ): 15,
}
_IDENTITY_SIGNALS: Final[Mapping[Signal[AgentInputs], int]] = {
    Signal(
        "ARS-KYC-01",
        "kyc_denied",
        "The agent's verification was DENIED.",
        lambda i: i.verification_status == VerificationStatus.DENIED.value,
        source="31 CFR 1020.220 (customer identification program); weight [P]",
        hard=True,
    ): 60,
    Signal(
        "ARS-SCR-01",
        "wallet_hit",
        "The agent's wallet is on a sanctions list.",
        lambda i: i.wallet_screening == "hit",
        source=_OFAC,
        hard=True,
    ): 60,
    Signal(
        "ARS-SCR-02",
        "wallet_review",
        "The screening of the agent's wallet waits for a review.",
        lambda i: i.wallet_screening == "review",
        source=_OFAC,
    ): 15,
    Signal(
        "ARS-SCR-03",
        "wallet_not_covered",
        "The screening does not cover the chain of the agent's wallet, which is not the same as clear.",
        lambda i: i.wallet_screening == "not_covered",
        source=_OFAC,
    ): 8,
    Signal(
        "ARS-SCR-04",
        "listed_payer",
        "A payer of the newest settlements is on a sanctions list.",
        lambda i: i.listed_payer_settlements > 0,
        lambda i, _: (
            f"{i.listed_payer_settlements} of the newest {i.recent_settlements} settlements come from wallets on a "
            "sanctions list."
        ),
        source=_OFAC,
        hard=True,
    ): 40,
}
_SIGNALS: Final = (_FLOW_SIGNALS, _REGISTRATION_SIGNALS, _REPUTATION_SIGNALS, _IDENTITY_SIGNALS)
_CAPS: Final = {Family.FLOW: 60, Family.DECLARED: 30, Family.RELATIONSHIP: 30, Family.IDENTITY: 60}
SCORER: Final = Scorer[AgentInputs](
    version=VERSION,
    groups=tuple(map(SignalGroup[AgentInputs], _SIGNALS)),
    observations=lambda inputs, floor, _program_floor: (inputs.settlements, inputs.settlements >= floor),
    capped=tuple(_CAPS),
)
DEFAULT: Final = default_card(
    SCORER,
    caps=_CAPS,
    floor=SETTLEMENTS_FLOOR,
    signals=checks(*_SIGNALS),
)


def is_degraded(inputs: AgentInputs) -> bool:
    """Without a screening of the wallet the score lacks one of its sources."""
    return inputs.wallet_screening is None
