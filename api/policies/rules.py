"""Rules for a new policy beyond the schema of its body: a version that a person may write, and known words.

The prefix of the version selects the body's schema, so its failures are listed here under ``body``.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

import jsonschema_rs
import msgspec

from clearhold.api.http.validation import Failure, country_failures, failures_of
from clearhold.features.catalogue.kris import KRIS
from clearhold.features.core.canonical import MAX_INTEGER
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.money import UNREADABLE_CURRENCY, USD
from clearhold.features.core.vocabulary import Band
from clearhold.features.detectors.table import DETECTOR_OF
from clearhold.features.policy.bodies import BODIES, CLOCK, FX, KRI, LADDER, POLICY, RETENTION, THRESHOLDS, prefix_of
from clearhold.features.policy.seeds import FLOORS

WRITTEN_HERE: Final = (POLICY, CLOCK, LADDER, THRESHOLDS, KRI, RETENTION, FX)
WRITTEN_ELSEWHERE: Final[Mapping[str, str]] = {
    "autonomy": "is written by POST /api/autonomy/{programId}",
    "limits": "is written by POST /api/limits/program/{programId}",
    "rules": "is written by POST /api/rules/{id}/activate",
    "scorecard": "is written by POST /api/scorecards",
    "challenger": "is written by POST /api/scorecards/{version}/shadow",
    "shadow": "is written by POST /api/rules/{id}/backtest",
}
_PREFIXES: Final = f"must begin with one of {', '.join(WRITTEN_HERE)}, and a hyphen"
_SCHEMAS: Final = {prefix: msgspec.json.schema(BODIES[prefix]) for prefix in WRITTEN_HERE}
_VALIDATORS: Final = {
    prefix: jsonschema_rs.validator_for(schema, validate_formats=True) for prefix, schema in _SCHEMAS.items()
}
_KNOWN_DETECTORS: Final = frozenset(DETECTOR_OF)
_LOWER: Final = frozenset(kri.name.value for kri in KRIS if kri.is_lower)
_REACHED_FIRST: Final = "must be reached before the breach: not above it, and not below it for a coverage"
_OF_ALL_PROGRAMS: Final = "must be null: a file of the lake has rows of all programs"
_WITHOUT_RATE: Final = frozenset({USD, UNREADABLE_CURRENCY})
_ALWAYS_A_PERSONS: Final = frozenset({Band.HOLD.value, Band.UNSCORED.value})


def policy_failures(plain: Mapping[str, Any]) -> Iterator[Failure]:
    """Every failing path of a new policy, as submitted."""
    version, body = plain.get("version"), plain.get("body")
    if not isinstance(version, str):
        return
    prefix = prefix_of(version)
    if prefix in WRITTEN_ELSEWHERE:
        yield Failure("version", f"with the prefix {prefix} {WRITTEN_ELSEWHERE[prefix]}", FieldCode.CONFLICTING)
    elif prefix not in WRITTEN_HERE:
        yield Failure("version", _PREFIXES, FieldCode.NOT_ONE_OF)
    elif prefix == RETENTION and plain.get("programId") is not None:
        yield Failure("programId", _OF_ALL_PROGRAMS, FieldCode.CONFLICTING)
    elif isinstance(body, dict):
        errors = _VALIDATORS[prefix].iter_errors(body)
        failures = list(failures_of(errors, schema=_SCHEMAS[prefix], noun="property"))
        for failure in failures or _RULES[prefix](version, body):
            yield failure._replace(path=f"body.{failure.path}" if failure.path else "body")


def _of_policy(version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    if body["version"] != version:
        yield Failure("version", "must be the policy's own version", FieldCode.CONFLICTING)
    for name in ("autoClosableDetectors", "alwaysReviewed"):
        for place, detector in enumerate(body[name]):
            if detector not in _KNOWN_DETECTORS:
                yield Failure(f"{name}[{place}]", "is not a detector of this service", FieldCode.NOT_ONE_OF)
    for place, detector in enumerate(body["autoClosableDetectors"]):
        if detector in body["alwaysReviewed"]:
            yield Failure(f"autoClosableDetectors[{place}]", "is in alwaysReviewed too", FieldCode.CONFLICTING)
    for place, band in enumerate(body["autoCloseBands"]):
        if band in _ALWAYS_A_PERSONS:
            yield Failure(f"autoCloseBands[{place}]", "must be clear or review", FieldCode.NOT_ONE_OF)


def _of_clock(_version: str, _body: Mapping[str, Any]) -> Iterator[Failure]:
    return iter(())


def _of_ladder(_version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    for actor in ("counterparty", "entity"):
        for band, caps in body[actor].items():
            for name, cents in caps.items():
                yield from _too_large(f"{actor}.{band}.{name}", cents)


def _of_thresholds(_version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    for place, cents in enumerate(body["structuringThresholdsCents"]):
        path = f"structuringThresholdsCents[{place}]"
        if cents == "0":
            yield Failure(path, "must be more than 0", FieldCode.TOO_SMALL)
        yield from _too_large(path, cents)
    for name in ("callForAction", "comprehensivelySanctioned", "increasedMonitoring"):
        for place, country in enumerate(body[name]["countries"]):
            yield from country_failures(f"{name}.countries[{place}]", country)


def _of_kri(_version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    seen: set[str] = set()
    for place, line in enumerate(body["lines"]):
        name, watch, breach = line["kri"], line["watch"], line["breach"]
        if name in seen:
            yield Failure(f"lines[{place}].kri", "must be each indicator once", FieldCode.CONFLICTING)
        seen.add(name)
        if watch < breach if name in _LOWER else watch > breach:
            yield Failure(f"lines[{place}].watch", _REACHED_FIRST, FieldCode.CONFLICTING)


def _of_retention(_version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    seen: set[str] = set()
    for place, line in enumerate(body["tables"]):
        table, days, floor = line["table"], line["days"], FLOORS.get(line["table"])
        if table in seen:
            yield Failure(f"tables[{place}].table", "must be each table once", FieldCode.CONFLICTING)
        seen.add(table)
        if floor is None:
            yield Failure(f"tables[{place}].table", "is not a table of the lake (docs/lake.md)", FieldCode.NOT_ONE_OF)
        elif days is not None and floor.days is None:
            yield Failure(f"tables[{place}].days", f"must be null: {floor.why}", FieldCode.CONFLICTING)
        elif days is not None and days < floor.days:
            sentence = f"must be null or at least {floor.days}: {floor.why}"
            yield Failure(f"tables[{place}].days", sentence, FieldCode.TOO_SMALL)


def _of_rates(_version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    seen: set[tuple[str, str]] = set()
    for place, line in enumerate(body["rates"]):
        currency, day = line["currency"], line["day"]
        if currency in _WITHOUT_RATE:
            yield Failure(f"rates[{place}].currency", "must be another currency than USD or XXX", FieldCode.NOT_ONE_OF)
        if not Fraction(line["rate"]):
            yield Failure(f"rates[{place}].rate", "must be more than 0", FieldCode.TOO_SMALL)
        if (currency, day) in seen:
            yield Failure(f"rates[{place}]", "must be each currency once a day", FieldCode.CONFLICTING)
        seen.add((currency, day))


def _too_large(path: str, cents: str | None) -> Iterator[Failure]:
    if cents is not None and int(cents) > MAX_INTEGER:
        yield Failure(path, f"must be at most {MAX_INTEGER}", FieldCode.TOO_LARGE)


_RULES: Final[Mapping[str, Callable[[str, Mapping[str, Any]], Iterator[Failure]]]] = {
    POLICY: _of_policy,
    CLOCK: _of_clock,
    LADDER: _of_ladder,
    THRESHOLDS: _of_thresholds,
    KRI: _of_kri,
    RETENTION: _of_retention,
    FX: _of_rates,
}
