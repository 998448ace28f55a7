"""The fields of a policy's form, by kind: their texts as of a body, and the body that typed texts make.

A field has the name of its place in the request, such as ``body.standardHours``, so that a fault of the interface is
beside it. An unreadable text stays in the body as typed, and its fault is named here.

Unit    money is typed in US dollars and is cents in the body; an empty field is no cap
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from clearhold.api.console.components.limits import typed_cents
from clearhold.api.policies.service import PolicyPrefix
from clearhold.features.core.entries.actions import ActionType
from clearhold.features.core.errors import RiskError
from clearhold.features.core.vocabulary import Band
from clearhold.features.detectors.table import DETECTOR_OF

BODY: Final = "body"
ALONE: Final = "alone"
ALWAYS: Final = "always"
BY_PERSON: Final = "person"
DETECTOR_CHOICES: Final[Mapping[str, str]] = {
    ALONE: "may be closed alone",
    BY_PERSON: "to a person",
    ALWAYS: "always to a person, also by autonomy",
}
DETECTORS: Final = tuple(sorted(DETECTOR_OF))
CLOSABLE_BANDS: Final = (Band.CLEAR.value, Band.REVIEW.value)
ACTION_TYPES: Final = tuple(each.value for each in ActionType)
SEVERITIES: Final = ("hard", "high", "medium", "low")
ACTORS: Final = ("entity", "counterparty")
BANDS: Final = ("clear", "review", "hold", "unscored")
CAPS: Final = ("perTransactionCents", "dailyCents", "monthlyCents")
LISTS: Final = ("callForAction", "comprehensivelySanctioned", "increasedMonitoring")
SHARES: Final = ("fleetOverallReturnRate", "fleetUnauthorizedReturnRate")
HOURS: Final = ("autoHours", "standardHours", "complexHours", "appealHours")


class PolicyFieldKind(StrEnum):
    NUMBER = "a number, such as 24 or 0.05"
    WHOLE = "a whole number"
    MONEY = "USD, such as 25,000.00; empty is no cap"
    TEXT = "text"
    DAY = "a day, such as 2026-06-19"
    TICK = "yes or no"
    AMOUNTS = "USD, one amount on a line"
    COUNTRIES = "countries, such as IR KP, with spaces between"
    RATES = "on each line a currency, a day and the US dollars for one unit, as in EUR 2026-03-02 1.0831"


class FormField(NamedTuple):
    """``name`` is its place in the request."""

    name: str
    kind: PolicyFieldKind

    @property
    def steps(self) -> list[str | int]:
        """The way to its value within the body."""
        parts = self.name.removeprefix(f"{BODY}.").replace("[", ".[").split(".")
        return [int(part[1:-1]) if part.startswith("[") else part for part in parts]


class TypedBody(NamedTuple):
    """``faults`` are sentences by the name of the field."""

    body: dict[str, Any]
    faults: dict[str, str]


def fields_of(kind: PolicyPrefix, body: Mapping[str, Any]) -> tuple[FormField, ...]:
    """The fields with one text each; detectors, bands and actions of a policy are separate groups."""
    return tuple(FormField(f"{BODY}.{name}", each) for name, each in _named(kind, body))


def _named(kind: PolicyPrefix, body: Mapping[str, Any]) -> Iterator[tuple[str, PolicyFieldKind]]:
    match kind:
        case PolicyPrefix.POLICY:
            yield "minProgramN", PolicyFieldKind.WHOLE
            yield "holdBandAutoHold", PolicyFieldKind.TICK
            yield "hardNeedsSecondPerson", PolicyFieldKind.TICK
            yield from ((f"minNarrativeChars.{each}", PolicyFieldKind.WHOLE) for each in SEVERITIES)
        case PolicyPrefix.CLOCK:
            yield from ((each, PolicyFieldKind.NUMBER) for each in HOURS)
        case PolicyPrefix.LADDER:
            for actor in ACTORS:
                for band in BANDS:
                    yield from ((f"{actor}.{band}.{cap}", PolicyFieldKind.MONEY) for cap in CAPS)
            yield from ((f"rescreenDays.{band}", PolicyFieldKind.WHOLE) for band in BANDS)
        case PolicyPrefix.THRESHOLDS:
            yield "structuringThresholdsCents", PolicyFieldKind.AMOUNTS
            for name in LISTS:
                yield f"{name}.countries", PolicyFieldKind.COUNTRIES
                yield f"{name}.asOf", PolicyFieldKind.DAY
                yield f"{name}.source", PolicyFieldKind.TEXT
        case PolicyPrefix.KRI:
            for place in range(len(body["lines"])):
                yield f"lines[{place}].watch", PolicyFieldKind.NUMBER
                yield f"lines[{place}].breach", PolicyFieldKind.NUMBER
            yield from ((each, PolicyFieldKind.NUMBER) for each in SHARES)
            yield "minObservations", PolicyFieldKind.WHOLE
        case _:
            yield "rates", PolicyFieldKind.RATES


def texts_of(kind: PolicyPrefix, body: Mapping[str, Any]) -> dict[str, str]:
    """The form of a body: a text by field; a box that is not ticked is left out."""
    texts = {each.name: _text(each.kind, _value_at(body, each)) for each in fields_of(kind, body)}
    if kind is PolicyPrefix.POLICY:
        for name in DETECTORS:
            is_alone, is_always = name in body["autoClosableDetectors"], name in body["alwaysReviewed"]
            texts[f"detector.{name}"] = ALONE if is_alone else ALWAYS if is_always else BY_PERSON
        texts |= {f"band.{each}": "yes" for each in body["autoCloseBands"]}
        texts |= {f"action.{each}": "yes" for each in body["twoApproverActions"]}
    return {name: text for name, text in texts.items() if text or not name.endswith(("AutoHold", "SecondPerson"))}


def _value_at(body: Any, field: FormField) -> Any:
    for step in field.steps:
        if isinstance(step, str) and step not in body:
            return None
        body = body[step]
    return body


def _text(kind: PolicyFieldKind, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    written = _WRITTEN.get(kind, str)
    return written(value)


def _dollars(cents: str) -> str:
    return f"{int(cents) // 100:,}.{int(cents) % 100:02d}"


_WRITTEN: Final[Mapping[PolicyFieldKind, Callable[[Any], str]]] = {
    PolicyFieldKind.TICK: lambda value: "yes" if value else "",
    PolicyFieldKind.MONEY: _dollars,
    PolicyFieldKind.AMOUNTS: lambda value: "\n".join(map(_dollars, value)),
    PolicyFieldKind.COUNTRIES: " ".join,
    PolicyFieldKind.RATES: lambda value: "\n".join(
        f"{each['currency']} {each['day']} {each['rate']}" for each in value
    ),
}


def typed_body(kind: PolicyPrefix, form: Mapping[str, str], version: str, former: Mapping[str, Any]) -> TypedBody:
    """The body of the next version by a form that began with ``former``, and the unreadable texts."""
    body, faults = dict[str, Any](), dict[str, str]()
    if kind is PolicyPrefix.POLICY:
        body = _groups(form, version, former)
    elif kind is PolicyPrefix.KRI:
        body = {"lines": [{"kri": each["kri"]} for each in former["lines"]]}
    for field in fields_of(kind, former):
        text = form.get(field.name, "").strip()
        if not text and _is_left_out(field, former, form):
            continue
        try:
            value = _value_of(field, text)
        except (RiskError, ValueError) as error:
            value, faults[field.name] = text, _fault(field, error)
        _put(body, field.steps, value)
    return TypedBody(body, faults)


def _groups(form: Mapping[str, str], version: str, former: Mapping[str, Any]) -> dict[str, Any]:
    """Lists keep the order that they had; new members stand last."""
    chosen = {name: form.get(f"detector.{name}", BY_PERSON) for name in DETECTORS}
    lists = {
        "autoClosableDetectors": [name for name in DETECTORS if chosen[name] == ALONE],
        "autoCloseBands": [each for each in CLOSABLE_BANDS if f"band.{each}" in form],
        "alwaysReviewed": [name for name in DETECTORS if chosen[name] == ALWAYS],
        "twoApproverActions": [each for each in ACTION_TYPES if f"action.{each}" in form],
    }
    return {"version": version} | {
        name: [each for each in dict.fromkeys([*former[name], *values]) if each in values]
        for name, values in lists.items()
    }


def _is_left_out(field: FormField, former: Mapping[str, Any], form: Mapping[str, str]) -> bool:
    """Whether an empty field states nothing: a box that the former body does not state; all lengths of narratives."""
    if field.kind is PolicyFieldKind.TICK:
        return _value_at(former, field) is None
    lengths = f"{BODY}.minNarrativeChars."
    return field.name.startswith(lengths) and not any(form.get(f"{lengths}{each}", "").strip() for each in SEVERITIES)


def _value_of(field: FormField, text: str) -> Any:
    """RiskError or ValueError for an unreadable text."""
    return _READ.get(field.kind, str)(text)


def _rate(line: str) -> dict[str, str]:
    currency, day, rate = line.split()
    return {"currency": currency, "day": day, "rate": rate}


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


_READ: Final[Mapping[PolicyFieldKind, Callable[[str], Any]]] = {
    PolicyFieldKind.TICK: bool,
    PolicyFieldKind.WHOLE: lambda text: int(text.replace(",", "")),
    PolicyFieldKind.NUMBER: _number,
    PolicyFieldKind.MONEY: lambda text: str(typed_cents(text, BODY)) if text else None,
    PolicyFieldKind.AMOUNTS: lambda text: [str(typed_cents(line, BODY)) for line in _lines(text)],
    PolicyFieldKind.COUNTRIES: lambda text: text.replace(",", " ").split(),
    PolicyFieldKind.RATES: lambda text: [*map(_rate, _lines(text))],
}


def _fault(field: FormField, error: Exception) -> str:
    return f"must be {field.kind.value}" if isinstance(error, ValueError) else str(error).partition(f"{BODY} ")[2]


def _put(body: Any, steps: list[str | int], value: Any) -> None:
    *way, last = steps
    for step, after in zip(way, steps[1:], strict=True):
        body = body.setdefault(step, [] if isinstance(after, int) else {}) if isinstance(step, str) else body[step]
    body[last] = value
