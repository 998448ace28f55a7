"""Policies as versioned data: decisions without a person and their deadlines, caps, lines of suspicion, retention.

A body is never edited. The prefix of its version names its type below; a new kind is a row in ``BODIES``.

Unit    hours of clocks may be fractions; money is cents as strings of digits, None is no cap
"""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Annotated, Any, Final
from weakref import WeakValueDictionary

import msgspec
from msgspec import Meta

from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.canonical import MAX_INTEGER, canonical, digest_of
from clearhold.features.core.entries.actions import ActionType
from clearhold.features.core.money import DailyRate, RateTable
from clearhold.features.core.plain_text import read_countries
from clearhold.features.core.rules import Rule, rule_hash
from clearhold.features.core.scorecards import Scorecard
from clearhold.features.core.vocabulary import Band, Severity, about

POLICY: Final = "policy"
CLOCK: Final = "clock"
LADDER: Final = "ladder"
THRESHOLDS: Final = "thresholds"
LIMITS: Final = "limits"
KRI: Final = "kri"
RETENTION: Final = "retention"
FX: Final = "fx"
RULES: Final = "rules"
SHADOW: Final = "shadow"
SCORECARD: Final = "scorecard"
CHALLENGER: Final = "challenger"

_UNIQUE: Final = {"uniqueItems": True}
Cents = Annotated[str, Meta(pattern=r"^(0|[1-9][0-9]{0,17})$(?!\n)")]
Hours = Annotated[float, Meta(ge=0, le=87_600)]
Chars = Annotated[int, Meta(ge=0, le=8_000)]
Days = Annotated[int, Meta(ge=1, le=36_500)]
Line = Annotated[float, Meta(ge=0, le=1_000_000)]
Share = Annotated[float, Meta(ge=0, le=1)]
Country = Annotated[str, Meta(pattern=r"^[^\x00]{2,32}$(?!\n)")]
DetectorIds = Annotated[tuple[str, ...], Meta(max_length=200, extra_json_schema=_UNIQUE)]


class Body(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body of a policy: one of ``BODIES``."""


class NarrativeChars(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The least length of a person's narrative, without white space around it, by the alert's severity."""

    hard: Annotated[Chars, about("Characters on an alert with a hard signal.")] = 20
    high: Annotated[Chars, about("Characters on an alert of high severity.")] = 0
    medium: Annotated[Chars, about("Characters on an alert of medium severity.")] = 0
    low: Annotated[Chars, about("Characters on an alert of low severity.")] = 0


class PolicyBody(Body, frozen=True, kw_only=True):
    """The alerts that the platform may close without a person."""

    version: Annotated[str, about("The policy's own version.")]
    auto_closable_detectors: Annotated[DetectorIds, about("Detectors whose alerts may be closed without a person.")]
    auto_close_bands: Annotated[
        tuple[Band, ...],
        Meta(extra_json_schema=_UNIQUE),
        about("Bands in which an alert may be closed without a person."),
    ]
    min_program_n: Annotated[
        int,
        Meta(ge=0, le=MAX_INTEGER),
        about("Transfers that the program's baseline must have before anything is closed without a person."),
    ]
    always_reviewed: Annotated[DetectorIds, about("Detectors whose alerts always go to a person.")]
    two_approver_actions: Annotated[
        tuple[ActionType, ...],
        Meta(extra_json_schema=_UNIQUE),
        about("Actions that need a second person, beside the actions that always do."),
    ]
    hold_band_auto_hold: Annotated[bool, about("Whether an alert in the hold band is held before anyone decides.")]
    min_narrative_chars: Annotated[
        NarrativeChars | msgspec.UnsetType,
        about("The least length of a person's narrative, by severity; 20 on hard alerts where it is left out."),
    ] = msgspec.UNSET
    hard_needs_second_person: Annotated[
        bool | msgspec.UnsetType,
        about("Whether closing or releasing a hard alert waits for a second person; not where it is left out."),
    ] = msgspec.UNSET

    def least_narrative(self, severity: Severity, *, hard: bool) -> int:
        """The least number of characters of a person's narrative on an alert."""
        chars = NarrativeChars() if self.min_narrative_chars is msgspec.UNSET else self.min_narrative_chars
        of_severity: int = getattr(chars, severity.value)
        return max(of_severity, chars.hard) if hard else of_severity


class ClockPolicy(Body, frozen=True, kw_only=True):
    """How long an alert may wait for its decision, by tier."""

    auto_hours: Annotated[Hours, about("Hours for an automated alert.")]
    standard_hours: Annotated[Hours, about("Hours for a reviewed alert, also for one with a hard signal.")]
    complex_hours: Annotated[Hours, about("Hours for one of high severity without a hard signal.")]
    appeal_hours: Annotated[Hours, about("Hours for an appeal.")]


class BandCaps(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The most that an actor in one band may move out."""

    per_transaction_cents: Annotated[
        Cents | None, about("The most per outgoing transfer, in integer cents; null: no cap.")
    ]
    daily_cents: Annotated[
        Cents | None, about("The most that may go out in a UTC day, in integer cents; null: no cap.")
    ]
    monthly_cents: Annotated[
        Cents | None, about("The most that may go out in a UTC month, in integer cents; null: no cap.")
    ]


class Ladder(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The caps of each band."""

    clear: BandCaps
    review: BandCaps
    hold: BandCaps
    unscored: BandCaps


class RescreenDays(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """After how many days an actor is screened again."""

    clear: Days
    review: Days
    hold: Days
    unscored: Days


class LimitLadder(Body, frozen=True, kw_only=True):
    """Caps of counterparties and entities by band, and how often each band is screened again."""

    counterparty: Annotated[Ladder, about("Caps of counterparties by band.")]
    entity: Annotated[Ladder, about("Caps of entities by band.")]
    rescreen_days: Annotated[RescreenDays, about("Days after which an actor is screened again, by band.")]


class CountryList(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A regulator's list as of a date; a new one replaces it as a whole. Countries are read as ISO 3166-1 alpha-2."""

    as_of: Annotated[str, Meta(extra_json_schema={"format": "date"})]
    source: Annotated[str, Meta(min_length=1, max_length=500, pattern=r"^\s*[^\s\x00][^\x00]*$(?!\n)")]
    countries: Annotated[tuple[Country, ...], Meta(max_length=250, extra_json_schema=_UNIQUE)]

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "countries", read_countries(self.countries))


class ThresholdsBody(Body, frozen=True, kw_only=True):
    """The reporting thresholds that amounts are split to stay under, and the regulators' lists of countries."""

    structuring_thresholds_cents: Annotated[
        tuple[Cents, ...], Meta(min_length=1, max_length=20, extra_json_schema=_UNIQUE)
    ]
    call_for_action: CountryList
    comprehensively_sanctioned: CountryList
    increased_monitoring: CountryList


class KriLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One indicator's lines: at ``watch`` or over it needs attention, strictly over ``breach`` is a breach.

    The lines of a coverage are lower limits; the lines of an aging are parts of its decision clock, in hours.
    """

    kri: KriName
    watch: Line
    breach: Line


class KriBody(Body, frozen=True, kw_only=True):
    """The lines of every key risk indicator, and the return rates that an exposure is measured with at least.

    A rate of fewer than ``min_observations`` has a value and no status.
    """

    lines: Annotated[tuple[KriLine, ...], Meta(min_length=len(KriName), max_length=len(KriName))]
    fleet_overall_return_rate: Share
    fleet_unauthorized_return_rate: Share
    min_observations: Annotated[
        int,
        Meta(ge=1, le=1_000_000),
        about("Observations from which on a rate is compared with its lines; below, its status is unmeasured."),
    ] = 20


class TableDays(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How many days a table of the lake keeps after the day of its rows; None is kept for good."""

    table: Annotated[str, Meta(min_length=1, max_length=100)]
    days: Days | None


class RetentionBody(Body, frozen=True, kw_only=True):
    """How long the lake keeps its tables. Unnamed tables are kept for good, and the record always is."""

    tables: Annotated[tuple[TableDays, ...], Meta(max_length=100)]


class FxBody(Body, frozen=True, kw_only=True, weakref=True, dict=True):
    """The daily rates at which amounts count for which the bank states no US dollars."""

    rates: Annotated[tuple[DailyRate, ...], Meta(max_length=2_000)]

    @cached_property
    def table(self) -> RateTable:
        """Ready for use, once for all programs that share the body."""
        return RateTable((each.currency, each.day, each.rate) for each in self.rates)


class LimitsBody(Body, frozen=True, kw_only=True):
    """The caps of one program, all five kinds; each is changed by an action."""

    ach_debit_daily_cents: str | None
    ach_debit_monthly_cents: str | None
    per_transaction_cents: str | None
    entity_daily_cents: str | None
    entity_velocity_24h_count: str | None

    @property
    def lines_cents(self) -> tuple[int, ...]:
        """The caps that amounts can be split to stay under: one transfer's and one entity's day, not the program's."""
        caps = (self.per_transaction_cents, self.entity_daily_cents)
        return tuple(int(cap) for cap in caps if cap is not None)


class RulesBody(Body, frozen=True, kw_only=True, weakref=True, dict=True):
    """The rules in force: active rules with the prefix ``rules``, rules in testing with the prefix ``shadow``."""

    rules: tuple[Rule, ...]

    @cached_property
    def hashes(self) -> tuple[str, ...]:
        """The digest of each rule, computed once for all programs that share the body."""
        return tuple(map(rule_hash, self.rules))


class ScorecardBody(Body, frozen=True, kw_only=True, omit_defaults=True):
    """The card that scores transfers; None is the default card of the scoring build.

    ``follows_tenant``: the program no longer has a card, and the tenant's card scores it.
    """

    card: Scorecard | None
    follows_tenant: bool = False


class ChallengerBody(Body, frozen=True, kw_only=True):
    """The version of a scorecard that runs in shadow, with its card; both None when a shadow has ended."""

    version: str | None
    card: Scorecard | None


BODIES: Final[Mapping[str, type[Body]]] = {
    POLICY: PolicyBody,
    CLOCK: ClockPolicy,
    LADDER: LimitLadder,
    THRESHOLDS: ThresholdsBody,
    KRI: KriBody,
    RETENTION: RetentionBody,
    FX: FxBody,
    LIMITS: LimitsBody,
    RULES: RulesBody,
    SHADOW: RulesBody,
    SCORECARD: ScorecardBody,
    CHALLENGER: ChallengerBody,
}


class ActiveVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version in force in one program since an instant. ``action_id`` is of the activation, empty for a seed."""

    version: str
    body: Body
    since: int
    action_id: str
    of_program: bool  # activated for the program alone, not for the whole tenant


class PolicyVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A policy as recorded; the prefix of ``version`` says which body it carries."""

    id: str
    tenant_id: str
    program_id: str | None
    version: str
    body: Body
    active: bool
    created_at: str


def prefix_of(version: str) -> str:
    """The word that says which body a version has.

    >>> prefix_of("clock-v2")
    'clock'
    """
    return version.partition("-")[0]


def decode_body(version: str, body: Any) -> Body:
    """The body of a version from what JSON decodes to; ``msgspec.ValidationError`` when it is not one."""
    return msgspec.convert(body, BODIES[prefix_of(version)])


_RATES: Final = WeakValueDictionary[str, FxBody]()


def shared_rates(body: FxBody) -> FxBody:
    """The one body of this content in the process."""
    return _RATES.setdefault(digest_of(canonical(body)), body)


@lru_cache(maxsize=64)
def policy_sha256(body: Body) -> str:
    """The digest that dispositions cite a policy by."""
    return digest_of(canonical(body))
