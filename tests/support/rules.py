"""Rules for tests: builders, random ones, and an interpreter written from the specification alone.

The interpreter reads the JSON of a rule and the features by their names, and shares no code with ``features/rules``.
"""

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, Final, get_args

import msgspec
from hypothesis import strategies as st

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.rules import Rule, RuleCondition, RuleOp
from clearhold.features.rules.language import RULE_FIELD_OF
from tests.support.builders import a_vector

Json = dict[str, Any]

MONEY: Final = (
    *("amountCents", "velocity24hSumCents", "program.medianCents", "program.p95Cents", "program.dailyAvgCents30d"),
    *("program.declaredMonthlyVolumeCents", "entity.categoryMedianCents90d", "program.categoryMedianCents90d"),
)
INTEGERS: Final = (
    *("entity.screeningAgeDays", "entity.count30d", "velocity24hCount", "entity.priorTransfers"),
    *("entity.priorReturns", "entity.achDebits60d", "entity.unauthorizedReturns60d", "structuringWindowCount"),
    *("counterparty.n", "counterparty.priorReturns", "counterparty.priorUnauthorizedReturns", "program.n90d"),
    *("typology.layeringHops", "typology.dormantDays", "entity.categoryCount90d", "entity.newCategoryAfter90d"),
    *("card.otherCountryMinutes24h", "card.otherStateMinutes24h", "card.notPresentMerchants24h"),
)
NUMBERS: Final = ("program.unauthorizedReturnRate60d",)
BOOLEANS: Final = (
    *("entity.isHighRisk", "entity.requiresScreening", "counterparty.firstTime", "typology.roundTrip"),
    *("typology.justBelowThreshold", "cardPresent"),
)
_SOME_COUNTRIES: Final = ("US", "DE", "MX", "IR", "FR", "ZA")
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "rail": ("ach", "wire", "realtime", "book", "intl_wire", "check", "card"),
    "direction": ("incoming", "outgoing"),
    "type": ("CREDIT", "DEBIT"),
    "status": ("COMPLETED", "SUBMITTED", "SETTLED", "CANCELED", "DECLINED", "PENDING_SUBMISSION"),
    "counterpartyCountry": _SOME_COUNTRIES,
    "cardDecisionReason": ("APPROVED", "SUSPECTED_FRAUD", "INSUFFICIENT_FUNDS", "PIN_OR_CVV", "OTHER"),
    "entity.verificationStatus": ("UNVERIFIED", "PENDING", "MANUAL_REVIEW", "VERIFIED", "DENIED"),
    "entity.pepStatus": ("not_checked", "no", "yes", "potential"),
    "entryMode": ("ECOMMERCE", "CONTACTLESS", "KEY_ENTERED"),
    "merchantCategory": ("0742", "5411", "5816"),
    "merchantState": ("TX", "OR", "PR"),
}
LISTS: Final[Mapping[str, tuple[str, ...]]] = {"declared.countries": _SOME_COUNTRIES}

ORDERED: Final = ("gt", "gte", "lt", "lte", "eq", "neq", "in", "not_in", "between", "is_null", "not_null")
EQUAL: Final = ("eq", "neq", "in", "not_in", "is_null", "not_null")
OPS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys((*MONEY, *INTEGERS, *NUMBERS), ORDERED),
    **dict.fromkeys((*WORDS, *LISTS), EQUAL),
    **dict.fromkeys(BOOLEANS, ("eq", "neq", "is_null", "not_null")),
}


def a_rule(*when: RuleCondition, **over: Any) -> Rule:
    usual: Json = {"id": "big-wires", "name": "Big wires", "action": "alert", "severity": "medium", "status": "draft"}
    conditions = when or (a_condition("amountCents", "gt", 300_000),)
    body = usual | {"when": [msgspec.to_builtins(each) for each in conditions]} | over
    return msgspec.convert(body, Rule)


def a_condition(field: str, op: str, value: Any = msgspec.UNSET) -> RuleCondition:
    return RuleCondition(field=field, op=RuleOp(op), value=value)


def interpreted(rule: Rule, inputs: Mapping[str, Any]) -> bool:
    """Whether every condition of a rule holds for features by their names."""
    body: Json = msgspec.json.decode(msgspec.json.encode(rule))
    return bool(body["scope"] == "transfer") and all(_holds(condition, inputs) for condition in body["when"])


def _holds(condition: Json, inputs: Mapping[str, Any]) -> bool:
    field: str = condition["field"]
    op: str = condition["op"]
    found: Any = inputs[field]
    if op in {"is_null", "not_null"}:
        return (found is None) == (op == "is_null")
    if found is None:
        return False
    wanted = condition["value"]
    if field in MONEY:
        wanted = [int(each) for each in wanted] if isinstance(wanted, list) else int(wanted)
    if field in LISTS:
        return _holds_for_list(op, [each for each in found.split(",") if each], wanted)
    return _compare(op, found, wanted)


def _holds_for_list(op: str, found: Sequence[str], wanted: Any) -> bool:
    if op in {"eq", "neq"}:
        return (set(found) == {wanted}) == (op == "eq")
    return any(each in found for each in wanted) == (op == "in")


def _compare(op: str, found: Any, wanted: Any) -> bool:
    if op == "between":
        return bool(wanted[0] <= found <= wanted[1])
    if op in {"in", "not_in"}:
        return any(found == each for each in wanted) == (op == "in")
    if op in {"eq", "neq"}:
        return bool(found == wanted) == (op == "eq")
    if op in {"gt", "gte"}:
        return bool(found > wanted or (op == "gte" and found == wanted))
    return bool(found < wanted or (op == "lte" and found == wanted))


MAX_BIGINT: Final = 2**63 - 1
ODD_TEXTS: Final = (
    "",
    "'",
    '"; DROP TABLE transfer_features; --',
    "a\x00b",
    "😀",
    "\uff35S",
    "?",
    "%",
    "None",
    "x" * 255,
)
NULLABLE: Final = frozenset(
    field.name for field in msgspec.structs.fields(FeatureVector) if NoneType in get_args(field.type)
)

_CENTS: Final = st.one_of(
    st.sampled_from((0, 1, 12_500, 99_999, 100_000, 269_999, 299_999, 300_000, 1_000_000, 10**12, 2**53 - 1)),
    st.integers(0, 2_000_000),
)
_MONEY_VALUES: Final = st.one_of(_CENTS, _CENTS.map(str), st.sampled_from((str(10**18 - 1), str(2**53 + 1))))
_COUNTS: Final = st.one_of(st.integers(0, 12), st.sampled_from((30, 90, 365, 2**53 - 1, 2.0)))
_SHARES: Final = st.one_of(
    st.sampled_from((0, 0.0, 0.004, 0.005, 0.5, 1, 1.0)), st.integers(0, 10_000).map(lambda n: n / 10_000)
)


def _values_of(field: str) -> st.SearchStrategy[Any]:
    if field in MONEY:
        return _MONEY_VALUES
    if field in BOOLEANS:
        return st.booleans()
    if field in NUMBERS:
        return _SHARES
    return _COUNTS if field in INTEGERS else st.sampled_from({**WORDS, **LISTS}[field])


@st.composite
def conditions(draw: st.DrawFn) -> RuleCondition:
    field = draw(st.sampled_from(sorted(OPS)))
    op = draw(st.sampled_from(OPS[field]))
    values = _values_of(field)
    if op in {"is_null", "not_null"}:
        return a_condition(field, op)
    if op == "between":
        return a_condition(field, op, tuple(sorted((draw(values), draw(values)), key=float)))
    if op in {"in", "not_in"}:
        return a_condition(field, op, tuple(draw(st.lists(values, min_size=1, max_size=4))))
    return a_condition(field, op, draw(values))


def _near(field: str, op: str, value: Any) -> st.SearchStrategy[Any]:
    """Features around what a condition looks for, and some that no rule can name."""
    values = list(value) if isinstance(value, tuple) else [] if op in {"is_null", "not_null"} else [value]
    if field in BOOLEANS:
        return st.booleans()
    if field in NUMBERS:
        steps = (0.0, 0.0001, 1e-12, 1e300)
        return st.sampled_from([0.25, *(each + step for each in values for step in steps)])
    if field in MONEY or field in INTEGERS:
        around = [int(each) + step for each in values for step in (-1, 0, 1)]
        return st.sampled_from([*(each for each in around if each >= 0), 0, 10**18 - 1, MAX_BIGINT])
    if field in LISTS:
        return st.sampled_from(["", *values, *(",".join(sorted({"US", each})) for each in values), "FR,ZZ"])
    return st.sampled_from([*values, *ODD_TEXTS])


@st.composite
def vectors_near(draw: st.DrawFn, rules: Sequence[Rule]) -> FeatureVector:
    """A quiet transfer, but for fields that one of the rules looks at."""
    body: Json = msgspec.to_builtins(draw(st.sampled_from(rules)))
    over: Json = {}
    for condition in body["when"]:
        column = RULE_FIELD_OF[condition["field"]].column
        values = _near(condition["field"], condition["op"], condition.get("value"))
        over[column] = draw(st.none() | values if column in NULLABLE else values)
    return a_vector(**{"counterparty_country_lists": ""} | over)


RULES: Final = st.builds(
    lambda when, scope: a_rule(*when, scope=scope),
    st.lists(conditions(), min_size=1, max_size=3),
    st.sampled_from(("transfer", "transfer", "transfer", "transfer", "entity")),
)
