"""The eighteen key risk indicators of a program, recomputed from plain lists as a bank's risk officer reads the rules.

Slow on purpose, and ignorant of the service: it reads ``kri_feed`` and knows the reference's figures alone.
Where the text leaves a choice:

* a return counts from the delivery that made it what it is: its code, or the contest that brought it back;
* a debit that was canceled or rejected never left, whatever else was said of it, and one of no amount is no entry;
* exposure is what can still come back, so without the debits that did;
* volume is what moved, at the US cents that the bank states; what came back had moved;
* days with data are days of UTC; the age of a program counts from its first transfer that moved;
* the newest decision on an entity counts, from the event that changed its status; said again is not decided again;
* each freeze counts, also of an account that was frozen before;
* a transfer, moved or not, is outside of what was declared at its own time; an empty list declares nothing;
* the cadence is of entities that must be screened or were, by whole days;
* waiting is open, held and escalated; what is held, or waits in the hold band, is a hold;
* p90 is the nearest rank; age runs from the opening.
"""

from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final, NamedTuple

from tests.checks.kri_feed import Data, Feed, Transfer

SECOND: Final = 1_000_000
HOUR: Final = 3_600 * SECOND
DAY: Final = 24 * HOUR
UNAUTHORIZED: Final = {"R05", "R07", "R10", "R11", "R29", "R51"}
ADMINISTRATIVE: Final = {"R02", "R03", "R04"}
WAITING: Final = {"open", "held", "escalated"}
SATURDAY: Final = 5
FRAUD_OR_AUTHENTICATION: Final = {  # bank-events 8.4
    word.upper()
    for word in (
        *("PIN_OR_CVV", "INCORRECT_PIN", "pin_blocked", "INVALID_CARD_DETAILS", "CARD_SECURITY_CODE_INCORRECT"),
        *("CARD_EXPIRY_DATE_INCORRECT", "verification_failed", "insecure_authorization_method", "SCA_REQUIRED"),
        *("suspected_fraud", "FRAUD_ADVICE", "SECURITY_VIOLATION", "CARDHOLDER_CHALLENGE_FAILED"),
    )
}
LINES: Final[dict[str, tuple[float, float]]] = {
    "ach_unauthorized_return_rate": (0.004, 0.005),
    "ach_administrative_return_rate": (0.024, 0.03),
    "ach_overall_return_rate": (0.12, 0.15),
    "ach_credit_return_rate": (0.03, 0.05),
    "reserve_coverage": (1.25, 1.0),
    "review_aging_hours": (18, 24),
    "hold_aging_hours": (54, 72),
    "overdraft_events": (1, 3),
    "freeze_events": (1, 2),
    "volume_velocity": (2, 3),
    "declared_volume_use": (0.8, 1.0),
    "counterparty_concentration": (0.25, 0.40),
    "verification_denial_rate": (0.05, 0.10),
    "card_decline_rate": (0.15, 0.30),
    "card_fraud_decline_share": (0.05, 0.10),
    "outside_declared_share": (0.0, 0.01),
    "hold_share": (0.02, 0.05),
    "stale_screening_share": (0.05, 0.10),
}
"""Watch and breach. The clocks are 24 hours for a review and 72 for a hold."""
LEAST_OF_A_RATE: Final = 20
FAMILIES_OF_35: Final = {"ach_unauthorized_return_rate", "reserve_coverage"}
RESCREEN_DAYS: Final = {"clear": 365, "review": 180, "hold": 30, "unscored": 180}


class Measured(NamedTuple):
    """An exact value, or None with n 0; what it counts; and how it stands to its lines."""

    value: Fraction | None
    n: int
    status: str


class Judged(NamedTuple):
    """What the service itself decided, as its API shows it: bands by transfer and entity, and alerts."""

    transfers: dict[str, str]
    entities: dict[str, str]
    alerts: list[Data]


class Fleet(NamedTuple):
    """The rates that a program's own are never below in its exposure (constants of the policy)."""

    overall: Fraction
    unauthorized: Fraction


def kris(feed: Feed, now: int, judged: Judged, fleet: Fleet) -> dict[str, Measured]:
    """Every indicator as of an instant."""
    figures = {
        **_returns(feed, now),
        "reserve_coverage": _reserve(feed, now, fleet),
        **_aging(now, judged.alerts),
        "overdraft_events": _count(len({a for at, a in feed.overdrafts if _in(at, now, 30)}), len(feed.accounts)),
        "freeze_events": _count(len({f for f in feed.freezes if _in(f[0], now, 30)}), len(feed.accounts)),
        "volume_velocity": _velocity(feed, now),
        "declared_volume_use": _declared_use(feed, now),
        "counterparty_concentration": _concentration(feed, now),
        "verification_denial_rate": _denials(feed, now),
        **_cards(feed, now),
        "outside_declared_share": _outside(feed, now),
        "hold_share": _holds(feed, now, judged.transfers),
        "stale_screening_share": _stale(feed, now, judged.entities),
    }
    return {
        name: Measured(value, 0 if value is None else n, status_of(name, value, n))
        for name, (value, n) in figures.items()
    }


def program_score(measured: dict[str, str]) -> tuple[int | None, int, float | None]:
    """Score, n and confidence out of the status of each indicator."""
    n = sum(1 for status in measured.values() if status != "unmeasured")
    if n < 3:
        return None, n, None
    points = 0
    for name, status in measured.items():
        breach = 35 if name in FAMILIES_OF_35 else 25
        points += {"watch": 10, "breach": breach}.get(status, 0)
    return min(points, 100), n, round(n / 18, 2)


def status_of(name: str, value: Fraction | None, n: int) -> str:
    """Breach is strictly over; watch at or over its line. A coverage is under; any share outside is to be watched.

    A rate of fewer than twenty is not measured.
    """
    if value is None or (name.endswith(("_rate", "_share")) and n < LEAST_OF_A_RATE):
        return "unmeasured"
    watch, breach = (Fraction(str(line)) for line in LINES[name])
    if name == "reserve_coverage":
        return "breach" if value < breach else "watch" if value < watch else "ok"
    if value > breach:
        return "breach"
    return "watch" if value > watch or (value == watch and watch > 0) else "ok"


Figure = tuple[Fraction | None, int]


def _in(at: int, now: int, days: int) -> bool:
    return now - days * DAY < at <= now


def _share(part: int, n: int) -> Figure:
    return (Fraction(part, n) if n else None), n


def _count(value: int, n: int) -> Figure:
    return (Fraction(value) if n else None), n


def _moved(feed: Feed, now: int, days: int) -> list[Transfer]:
    return [each for each in feed.transfers.values() if each.moved and _in(each.own, now, days)]


def _cents(transfers: list[Transfer]) -> int:
    return sum(each.cents or 0 for each in transfers)


def _entries(feed: Feed, ach_type: str) -> list[Transfer]:
    """What the program originated and what left."""
    return [
        each
        for each in feed.transfers.values()
        if (each.rail, each.direction, each.type) == ("ach", "outgoing", ach_type) and each.moved and each.amount > 0
    ]


def _came_back(entry: Transfer, now: int) -> bool:
    returned = entry.returned
    return returned is not None and not returned.undone and _in(returned.delivered_at, now, 60)


def _returns(feed: Feed, now: int) -> dict[str, Figure]:
    """Returns received in the window against entries originated in it: not a matched cohort."""
    debits, sent = _entries(feed, "DEBIT"), _entries(feed, "CREDIT")
    codes = [each.returned.code for each in debits if each.returned is not None and _came_back(each, now)]
    n = sum(_in(each.own, now, 60) for each in debits)
    without_rck = [each for each in debits if each.sec_code != "RCK"]
    return {
        "ach_unauthorized_return_rate": _share(sum(code in UNAUTHORIZED for code in codes), n),
        "ach_administrative_return_rate": _share(sum(code in ADMINISTRATIVE for code in codes), n),
        "ach_overall_return_rate": _share(
            sum(_came_back(each, now) for each in without_rck), sum(_in(each.own, now, 60) for each in without_rck)
        ),
        "ach_credit_return_rate": _share(
            sum(_came_back(each, now) for each in sent), sum(_in(each.own, now, 60) for each in sent)
        ),
    }


def _reserve(feed: Feed, now: int, fleet: Fleet) -> Figure:
    account = feed.declared_at(now).get("programReserveAccountId")
    open_debits = [
        each
        for each in _entries(feed, "DEBIT")
        if _in(each.own, now, 60) and (each.returned is None or each.returned.undone)
    ]
    n = len(open_debits)
    rates = _returns(feed, now)
    overall = max(rates["ach_overall_return_rate"][0] or Fraction(0), fleet.overall)
    unauthorized = max(rates["ach_unauthorized_return_rate"][0] or Fraction(0), fleet.unauthorized)
    recent = [each for each in open_debits if each.own >= two_banking_days_before(now)]
    exposure = _cents(recent) * overall + _cents(open_debits) * unauthorized
    if account not in feed.balances or not exposure:
        return None, n
    return Fraction(feed.balances[account][1]) / exposure, n


def two_banking_days_before(at: int) -> int:
    """Midnight of the second day from Monday to Friday before an instant's day."""
    day, left = at // DAY, 2
    while left:
        day -= 1
        left -= datetime.fromtimestamp(day * 86_400, UTC).weekday() < SATURDAY
    return day * DAY


def _aging(now: int, alerts: list[Data]) -> dict[str, Figure]:
    waiting = [each for each in alerts if each["status"] in WAITING and each["subjectType"] != "program"]
    review = [each for each in waiting if each["bandAtAlert"] == "review"]
    held = [each for each in waiting if each["status"] == "held" or each["bandAtAlert"] == "hold"]
    return {"review_aging_hours": _ninetieth(now, review), "hold_aging_hours": _ninetieth(now, held)}


def _ninetieth(now: int, alerts: list[Data]) -> Figure:
    ages = sorted(now - each["openedAt"] for each in alerts)
    n = len(ages)
    return (Fraction(ages[-(-n * 9 // 10) - 1], HOUR) if n else None), n


def _velocity(feed: Feed, now: int) -> Figure:
    moved = [each for each in feed.transfers.values() if each.moved]
    month = [each for each in moved if _in(each.own, now, 30) and each.cents is not None]
    days = len({each.own // DAY for each in month})
    age = now - min((each.own for each in moved), default=now)
    if age < 7 * DAY or not _cents(month):
        return None, days
    return Fraction(
        _cents([each for each in month if _in(each.own, now, 1)]) * min(age, 30 * DAY), _cents(month) * DAY
    ), days


def _declared_use(feed: Feed, now: int) -> Figure:
    today = datetime.fromtimestamp(now // SECOND, UTC)
    first = int(datetime(today.year, today.month, 1, tzinfo=UTC).timestamp()) * SECOND
    month = [
        each for each in feed.transfers.values() if each.moved and each.cents is not None and first <= each.own <= now
    ]
    declared = feed.declared_at(now).get("declaredMonthlyVolumeCents")
    if not declared or not int(declared) or not month:
        return None, len(month)
    return Fraction(_cents(month), int(declared)), len(month)


def _concentration(feed: Feed, now: int) -> Figure:
    out = [each for each in _moved(feed, now, 30) if each.leaves]
    cents: Counter[tuple[str, ...]] = Counter()
    for each in out:
        if each.party is not None and each.cents:
            cents[each.party] += each.cents
    total = _cents(out)
    return (Fraction(max(cents.values()), total) if cents and total else None), len(cents)


def _denials(feed: Feed, now: int) -> Figure:
    decided = [e.decision for e in feed.entities.values() if e.decision is not None and _in(e.decided_at, now, 30)]
    return _share(decided.count("DENIED"), len(decided))


def _cards(feed: Feed, now: int) -> dict[str, Figure]:
    asked = [
        each
        for each in feed.transfers.values()
        if each.rail == "card" and each.direction == "outgoing" and _in(each.own, now, 30)
    ]
    declined = [each for each in asked if each.status == "DECLINED"]
    suspect = sum((each.reason or "").upper() in FRAUD_OR_AUTHENTICATION for each in declined)
    return {
        "card_decline_rate": _share(len(declined), len(asked)),
        "card_fraud_decline_share": _share(suspect, len(asked)),
    }


def _outside(feed: Feed, now: int) -> Figure:
    n = outside = 0
    for each in feed.transfers.values():
        if not _in(each.own, now, 30):
            continue
        declared: dict[str, Any] = feed.declared_at(each.own)
        rails, countries = declared.get("declaredRails"), declared.get("declaredCountries", ["US"])
        knows_country = bool(countries and each.country)
        n += bool(rails) or knows_country
        outside += bool(rails and each.rail not in rails) or (knows_country and each.country not in countries)
    return _share(outside, n)


def _holds(feed: Feed, now: int, bands: dict[str, str]) -> Figure:
    scored = [
        bands[each.id]
        for each in feed.transfers.values()
        if _in(each.own, now, 30) and bands.get(each.id, "unscored") != "unscored"
    ]
    return _share(scored.count("hold"), len(scored))


def _stale(feed: Feed, now: int, bands: dict[str, str]) -> Figure:
    n = stale = 0
    for entity_id, entity in feed.entities.items():
        if entity.requires_screening or entity.screened_at is not None:
            n += 1
            cadence = RESCREEN_DAYS[bands.get(entity_id, "unscored")]
            stale += entity.screened_at is None or (now - entity.screened_at) // DAY > cadence
    return _share(stale, n)
