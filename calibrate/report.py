"""The report on one card, as it is filed: what it was fitted to, how it does on later time, and what it cannot say.

Unit    instants and weeks are texts, UTC; shares are of 1, with n and the 95 % interval of Wilson
Null    an unmeasured figure is null, never 0
Names   ``cardSha256`` and ``generatedAt`` are checked by an activation
"""

from typing import Final

import msgspec

from clearhold.features.core.measured import Measured

REPORT_VERSION: Final = "calibration-v2"
CARD: Final = "card"
CHAMPION: Final = "champion"
AMOUNT: Final = "amount"
FIRST_PAIR: Final = "first payment of a pair, larger first"
FIT: Final = "fit"
LATER: Final = "later"
FITTED: Final = "fitted to labels"
KEPT: Final = "kept from the champion"
HARD: Final = "hard, without points"
GIVEN: Final = "given"
WARNING: Final = "warning"
NOTE: Final = "note"


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    pass


class Window(_Part, frozen=True, kw_only=True):
    """Half-open. ``bad`` and ``ok`` are matured labels of transfers with a score or without."""

    from_: str = msgspec.field(name="from")
    to: str
    transfers: int
    bad: int
    ok: int
    unscored: int


class SourceCount(_Part, frozen=True, kw_only=True):
    """``provisional`` are labels of transfers younger than 60 days, bad ones too, which do not count."""

    source: str
    bad: int
    ok: int
    provisional: int


class Exclusion(_Part, frozen=True, kw_only=True):
    why: str
    transfers: int


class DataPart(_Part, frozen=True, kw_only=True):
    """``sha256`` is of transfers, times, labels and measures: where it is the same, so was the data."""

    source: str
    programs: tuple[str, ...]
    feature_version: str
    fit: Window
    later: Window
    labels_by_source: tuple[SourceCount, ...]
    matured: Measured
    exclusions: tuple[Exclusion, ...]
    sha256: str


class RefusedReason(_Part, frozen=True, kw_only=True):
    """``firing`` is the share of the fit window's transfers on which it would have had points."""

    id: str
    firing: float


class FitPart(_Part, frozen=True, kw_only=True):
    """``pointsALogOdd`` and ``baseLogOdds`` turn points into the chance that the fit gave. ``volume`` is the one asked
    for: transfers in review and hold of 1,000 with a score; the others are those of the fit window.
    """

    method: str
    library: str
    base_log_odds: float
    points_a_log_odd: float
    hold_chance: float
    volume: float
    review_per_thousand: float
    hold_per_thousand: float
    fitted: tuple[str, ...]
    kept: tuple[str, ...]
    without_points: tuple[str, ...]
    refused: tuple[RefusedReason, ...]
    left_out: tuple[str, ...]


class RankingAt(_Part, frozen=True, kw_only=True):
    """At ``per_thousand`` alerts per 1,000 transfers, labelled or not. Precision is that of the labelled ones."""

    per_thousand: int
    alerts: int
    precision: Measured
    recall: Measured


class Ranking(_Part, frozen=True, kw_only=True):
    """``curve`` are precisions at recalls of 0, 5, .. 100 %."""

    name: str
    average_precision: float
    low: float | None
    high: float | None
    at: tuple[RankingAt, ...]
    curve: tuple[float, ...]


class BandShare(_Part, frozen=True, kw_only=True):
    """``perThousand`` is of all transfers of the window, labelled or not."""

    band: str
    transfers: int
    per_thousand: float | None
    bad_share: Measured


class BandTable(_Part, frozen=True, kw_only=True):
    """``rises`` is whether each band is more often bad than the one below, ``apart`` whether their intervals say so."""

    card: str
    window: str
    bands: tuple[BandShare, ...]
    rises: bool | None
    apart: bool | None


class Decile(_Part, frozen=True, kw_only=True):
    mean_chance: float
    bad_share: Measured


class ChancePart(_Part, frozen=True, kw_only=True):
    """Chances from scores by isotonic regression on the fit window, held against later time."""

    brier: float
    skill: float | None
    ece: float
    deciles: tuple[Decile, ...]
    points: tuple[tuple[int, float], ...]


class WeekPart(_Part, frozen=True, kw_only=True):
    week: str
    transfers: int
    clear: int
    review: int
    hold: int
    unscored: int
    bad: int
    psi: float | None
    in_fit: bool


class StabilityPart(_Part, frozen=True, kw_only=True):
    """Against the fit window. ``verdict`` is stable, look (0.10 and more) or act (0.25 and more)."""

    psi: float
    verdict: str
    weeks: tuple[WeekPart, ...]


class BinPart(_Part, frozen=True, kw_only=True):
    """``transfers`` are of both windows; of the fitted one alone nothing is proved."""

    at_least: int
    below: int | None
    points: int
    transfers: int
    fit: Measured
    later: Measured
    lift_later: float | None


class CapPart(_Part, frozen=True, kw_only=True):
    """The most points of a family; null is no cap."""

    family: str
    points: int | None
    champion_points: int | None


class ReasonPart(_Part, frozen=True, kw_only=True):
    """``later`` is how often the labelled transfers of later time on which it fires are bad, ``liftLater`` how many
    times as often as all of them.
    """

    id: str
    name: str
    family: str | None
    meaning: str
    unit: str
    hard: bool
    origin: str
    champion_points: int
    firing_fit: float
    firing_later: float
    psi: float
    later: Measured
    lift_later: float | None
    bins: tuple[BinPart, ...]


class Move(_Part, frozen=True, kw_only=True):
    champion: str
    card: str
    transfers: int
    bad: int
    ok: int


class PairedPart(_Part, frozen=True, kw_only=True):
    """Decisions at the line of review on labelled transfers of later time; p of McNemar's exact test."""

    only_card_right: int
    only_champion_right: int
    p_value: float


class CalibrationFinding(_Part, frozen=True, kw_only=True):
    """``level`` is warning or note."""

    level: str
    sentence: str


class CalibrationReport(_Part, frozen=True, kw_only=True):
    """``fit`` is null where a card was given, and nothing was fitted. ``floor`` and ``programFloor`` are the least n of
    an entity and of a program that is scored.
    """

    report_version: str = REPORT_VERSION
    generated_at: str
    scorer: str
    card_name: str
    card_sha256: str
    champion: str
    champion_sha256: str
    command: str
    data: DataPart
    fit: FitPart | None
    rankings: tuple[Ranking, ...]
    bands: tuple[BandTable, ...]
    chance: ChancePart | None
    stability: StabilityPart
    floor: int
    program_floor: int | None
    caps: tuple[CapPart, ...]
    reasons: tuple[ReasonPart, ...]
    migration: tuple[Move, ...]
    paired: PairedPart
    findings: tuple[CalibrationFinding, ...]
