"""Rules as people read and write them: conditions in words, the form of rows, backtests with their weeks."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.console.components.limits import typed_cents
from clearhold.api.console.components.words import NO_VALUE, count, moment, money, outsider
from clearhold.api.rules.schemas import FIELDS
from clearhold.features.core.errors import FieldCode, invalid
from clearhold.features.core.measured import Measured
from clearhold.features.core.principal import Program
from clearhold.features.core.rules import (
    Backtest,
    BacktestWeek,
    FullBacktest,
    NamedTransfer,
    Rule,
    RuleAction,
    RuleCondition,
    RuleOp,
    ShadowReport,
)
from clearhold.features.core.vocabulary import Severity
from clearhold.features.rules.language import LIST_OPS, MAX_CONDITIONS, NULL_OPS, RULE_FIELD_OF, FieldKind

RULES: Final = "/console/rules"
_rect: Final = h.Element("rect")
_title: Final = h.Element("title")
_KINDS: Final[Mapping[str, FieldKind]] = {each.field: each.type for each in FIELDS.fields}
OP_WORDS: Final[Mapping[RuleOp, str]] = {
    RuleOp.GT: "is over",
    RuleOp.GTE: "is at least",
    RuleOp.LT: "is under",
    RuleOp.LTE: "is at most",
    RuleOp.EQ: "is",
    RuleOp.NEQ: "is not",
    RuleOp.IN: "is one of",
    RuleOp.NOT_IN: "is none of",
    RuleOp.BETWEEN: "is between",
    RuleOp.IS_NULL: "is not measured",
    RuleOp.NOT_NULL: "is measured",
}
_HINTS: Final[Mapping[FieldKind, str]] = {
    FieldKind.MONEY: "USD, such as 25000.00",
    FieldKind.INTEGER: "a whole number",
    FieldKind.NUMBER: "a number, such as 0.25",
    FieldKind.BOOLEAN: "true or false",
    FieldKind.WORD: "a word; several with spaces between",
    FieldKind.COUNTRIES: "countries, such as US MX",
}
_SEEN_WEEKS: Final = 14
_BAR, _TALL = 24, 60


def value_words(field: str, value: Any) -> str:
    """A value as it is read and typed: money in US dollars, a list with spaces between."""
    if value is msgspec.UNSET:
        return ""
    if isinstance(value, tuple | list):
        return " ".join(value_words(field, each) for each in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if _KINDS.get(field) is FieldKind.MONEY and str(value).isdigit():
        return f"{int(value) // 100}.{int(value) % 100:02d}"
    return str(value)


def condition_words(each: RuleCondition) -> h.Node:
    unit = " USD" if _KINDS.get(each.field) is FieldKind.MONEY and each.value is not msgspec.UNSET else ""
    value = "" if each.value is msgspec.UNSET else f" {value_words(each.field, each.value)}{unit}"
    return [h.code[each.field], f" {OP_WORDS[each.op]}", outsider(value)]


def conditions(rule: Rule) -> h.Element:
    return h.ul(".plain")[(h.li[condition_words(each)] for each in rule.when)]


def typed_rule(rule: Rule) -> dict[str, str]:
    """The fields of the form, as of a stored rule."""
    typed = {
        "rule": rule.id,
        "name": rule.name,
        "program": rule.program_id or "",
        "does": rule.action.value,
        "severity": rule.severity.value,
        "note": rule.note or "",
    }
    for at, each in enumerate(rule.when):
        typed |= {f"field.{at}": each.field, f"op.{at}": each.op.value}
        typed[f"value.{at}"] = value_words(each.field, each.value)
    return typed


def rows_in(typed: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Field, operation and value of each row of a form; at least one row."""
    rows = [
        tuple(typed.get(f"{part}.{at}", "").strip() for part in ("field", "op", "value"))
        for at in range(MAX_CONDITIONS)
        if f"field.{at}" in typed
    ]
    return [(field, op, value) for field, op, value in rows] or [("", RuleOp.GTE.value, "")]


def with_rows(typed: Mapping[str, str], rows: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    others = {name: value for name, value in typed.items() if "." not in name}
    for at, row in enumerate(rows):
        others |= {f"{part}.{at}": text for part, text in zip(("field", "op", "value"), row, strict=True)}
    return others


def rule_body(typed: Mapping[str, str]) -> dict[str, Any]:
    """The body of a request; InvalidRequestError for an unreadable number. Rows without a field are left out."""
    when = []
    rows = [row for row in rows_in(typed) if any((row[0], row[2]))]
    for at, (field, op, text) in enumerate(rows):
        condition: dict[str, Any] = {"field": field, "op": op}
        if op not in set(NULL_OPS):
            condition["value"] = _typed_value(f"when[{at}].value", field, op, text)
        when.append(condition)
    body: dict[str, Any] = {name: typed.get(name, "").strip() for name in ("name", "severity")}
    body |= {"id": typed.get("rule", "").strip(), "action": typed.get("does", "")}
    note, program = typed.get("note", "").strip(), typed.get("program", "")
    return body | {"programId": program or None, "when": when} | ({"note": note} if note else {})


def _typed_value(path: str, field: str, op: str, text: str) -> Any:
    kind = _KINDS.get(field, FieldKind.WORD)
    if op in set(LIST_OPS):
        return [_scalar(path, kind, each) for each in text.split()]
    return _scalar(path, kind, text)


def _scalar(path: str, kind: FieldKind, text: str) -> Any:
    if kind is FieldKind.MONEY:
        return str(typed_cents(text, path))
    if kind is FieldKind.BOOLEAN:
        if text not in {"true", "false"}:
            raise invalid(path, "must be true or false", FieldCode.MALFORMED)
        return text == "true"
    if kind in {FieldKind.INTEGER, FieldKind.NUMBER}:
        try:
            return int(text) if kind is FieldKind.INTEGER else float(text)
        except ValueError:
            raise invalid(path, f"must be {_HINTS[kind]}", FieldCode.MALFORMED) from None
    return text


def rule_fields(
    typed: Mapping[str, str], programs: Sequence[Program], refusal: str | None, *, is_new: bool
) -> list[h.Node]:
    """The inputs of a rule; a refusal of one row is beside that row."""
    rows = rows_in(typed)
    faulty = next((at for at in range(len(rows)) if refusal is not None and f"when[{at}]" in refusal), None)
    return [
        h.p(".refusal", role="alert")[refusal] if refusal is not None and faulty is None else None,
        h.label["Id", h.input(name="rule", value=typed.get("rule", ""), readonly=not is_new, autocomplete="off")],
        h.label["Name", h.input(name="name", value=typed.get("name", ""), autocomplete="off")],
        _select("Program", "program", {"": "every program"} | {each.id: each.name for each in programs}, typed),
        _select("Action", "does", {each.value: each.value for each in RuleAction}, typed),
        _select("Severity", "severity", {each.value: each.value for each in Severity}, typed),
        h.fieldset[
            h.legend["All of these must hold"],
            h.p(".small")["A field that is not measured matches no comparison, only “is not measured”."],
            h.datalist("#rule-fields")[(h.option(value=each.field) for each in FIELDS.fields)],
            (_row(at, row, refusal if at == faulty else None) for at, row in enumerate(rows)),
            h.button(type="submit", name="step", value="add")["Add a row"],
        ],
        h.label["Note", h.textarea(name="note", rows="2", maxlength="2000")[typed.get("note", "")]],
    ]


def _row(at: int, row: tuple[str, str, str], refusal: str | None) -> h.Element:
    field, op, value = row
    kind = _KINDS.get(field)
    number = at + 1
    invalid_ = "true" if refusal is not None else None
    modes = {FieldKind.MONEY: "decimal", FieldKind.INTEGER: "numeric", FieldKind.NUMBER: "decimal"}
    return h.div(".rule-row")[
        h.label[f"Field {number}", h.input(name=f"field.{at}", value=field, list="rule-fields", autocomplete="off")],
        h.label[
            f"Operation {number}",
            h.select(name=f"op.{at}")[
                (h.option(value=each.value, selected=each == op)[words] for each, words in OP_WORDS.items())
            ],
        ],
        h.label[
            f"Value {number}",
            h.input(
                name=f"value.{at}",
                value=value,
                autocomplete="off",
                inputmode=modes.get(kind) if kind is not None else None,
                aria_invalid=invalid_,
                aria_describedby=f"fault-{at}" if refusal else None,
            ),
        ],
        h.button(type="submit", name="step", value=f"remove.{at}", aria_label=f"Remove row {number}")["Remove"],
        h.p(".small")[_hint(field, kind)] if kind is not None else None,
        h.p(".refusal", role="alert", id=f"fault-{at}")[refusal] if refusal else None,
    ]


def _hint(field: str, kind: FieldKind) -> str:
    return f"{field}: {_HINTS[kind]}. {RULE_FIELD_OF[field].meaning}"


def _select(label: str, name: str, options: Mapping[str, str], typed: Mapping[str, str]) -> h.Element:
    return h.label[
        label,
        h.select(name=name)[
            (h.option(value=value, selected=typed.get(name) == value)[words] for value, words in options.items())
        ],
    ]


def difference(in_force: Rule | None, newest: Rule) -> h.Node:
    """The newest text beside the one in force, row by row."""
    if in_force is None:
        return h.p["No text of it is in force."]
    old, new = _parts(in_force), _parts(newest)
    changed = [name for name in [*old, *[each for each in new if each not in old]] if old.get(name) != new.get(name)]
    if not changed:
        return h.p["The newest text is the one in force."]
    return h.div(".wide", tabindex="0", role="region", aria_label="Difference")[
        h.table(".endpoints")[
            h.thead[h.tr[(h.th(scope="col")[each] for each in ("Part", "In force", "New"))]],
            h.tbody[
                (
                    h.tr[
                        h.th(scope="row")[name],
                        h.td(data_label="In force")[outsider(old.get(name), NO_VALUE)],
                        h.td(data_label="New")[outsider(new.get(name), NO_VALUE)],
                    ]
                    for name in changed
                )
            ],
        ]
    ]


def _parts(rule: Rule) -> dict[str, str]:
    parts = {
        "name": rule.name,
        "program": rule.program_id or "every program",
        "action": rule.action.value,
        "severity": rule.severity.value,
        "note": rule.note or "",
    }
    for at, each in enumerate(rule.when, 1):
        parts[f"condition {at}"] = f"{each.field} {OP_WORDS[each.op]} {value_words(each.field, each.value)}".strip()
    return parts


def backtest_view(tested: Backtest) -> h.Element:
    kept = "the newest of the window" if tested.sampled else "every transfer of the window"
    full = tested.full
    return h.div(".backtest")[
        h.p[
            h.strong[f"{tested.matched:,} of {count(tested.scanned, 'transfer')} match"],
            f" ({kept}, {tested.days} days, run at ",
            moment(tested.at),
            f"). {tested.would_alert:,} would open an alert, {tested.would_hold:,} would hold; ",
            f"{tested.overlap_with_existing_alerts:,} have an alert already.",
        ],
        _full(full) if full is not msgspec.UNSET else None,
        h.h3["Newest matches"],
        transfers(tested.sample_transfers),
    ]


def _full(full: FullBacktest) -> h.Node:
    return [
        h.dl(".particulars")[
            h.dt["Precision"],
            h.dd[_measured(full.precision)],
            h.dt["Recall"],
            h.dd[_measured(full.recall)],
            h.dt["Caught"],
            h.dd[f"{count(full.caught.count, 'transfer')}, {money(full.caught.cents)}"],
        ],
        h.h3["By week"],
        _weeks(full.by_week[-_SEEN_WEEKS:]),
        h.h3["False positives: matched, and labelled ok"],
        transfers(full.false_positive_transfers),
    ]


def _weeks(weeks: Sequence[BacktestWeek]) -> h.Node:
    """Matches as bars, and the same in a table."""
    if not weeks:
        return h.p["No transfer is in the window."]
    most = max(1, *(each.matched for each in weeks))
    return [
        h.svg(".weeks", viewBox=f"0 0 {_BAR * _SEEN_WEEKS} {_TALL}", role="img")[
            _title["Matches by week: " + ", ".join(f"{each.week} {each.matched}" for each in weeks)],
            (
                _rect(
                    ".counts",
                    x=str(at * _BAR + 2),
                    y=f"{_TALL - _TALL * each.matched / most:.1f}",
                    width=str(_BAR - 4),
                    height=f"{_TALL * each.matched / most:.1f}",
                )
                for at, each in enumerate(weeks)
            ),
        ],
        h.table(".endpoints.figures")[
            h.thead[h.tr[h.th(scope="col")["Week"], h.th(scope="col")["Matched"], h.th(scope="col")["Read"]]],
            h.tbody[
                (
                    h.tr[
                        h.th(scope="row")[each.week],
                        h.td(".number", data_label="Matched")[f"{each.matched:,}"],
                        h.td(".number", data_label="Read")[f"{each.scanned:,}"],
                    ]
                    for each in weeks
                )
            ],
        ],
    ]


def _measured(share: Measured) -> str:
    if share.value is None:
        return "not measured (n 0)"
    return f"{share.value:.1%}, 95 % from {share.low:.1%} to {share.high:.1%}, n {share.n:,}"


def transfers(named: Sequence[NamedTransfer]) -> h.Node:
    if not named:
        return h.p["None."]
    return h.ul(".chips")[
        (h.li[h.a(href=f"/console/things/transfer/{each.transfer_id}")[outsider(each.transfer_id)]] for each in named)
    ]


def shadow_words(report: ShadowReport) -> str:
    if report.matched is None:
        return "not counted"
    return f"{report.matched:,} of {report.scanned or 0:,}"
