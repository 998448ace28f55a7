"""Rules as people read them: conditions in words, differences, backtests with their weeks."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.console.components.timeline import thing_path
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import NO_VALUE, count, moment, money, outsider
from clearhold.api.rules.schemas import FIELDS, RuleField
from clearhold.features.core.measured import Measured
from clearhold.features.core.rules import (
    Backtest,
    BacktestWeek,
    FullBacktest,
    NamedTransfer,
    Rule,
    RuleCondition,
    RuleOp,
    ShadowReport,
    rule_hash,
)
from clearhold.features.rules.language import FieldKind

RULES: Final = "/console/rules"
_rect: Final = h.Element("rect")
_title: Final = h.Element("title")
FIELD_OF: Final[Mapping[str, RuleField]] = {each.field: each for each in FIELDS.fields}
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
_SEEN_WEEKS: Final = 14
_BAR, _TALL = 24, 60


def kind_of_name(field: str) -> FieldKind | None:
    """The kind of a field's values; None for a name that no field has."""
    return FIELD_OF[field].type if field in FIELD_OF else None


def value_words(field: str, value: Any) -> str:
    """A value as it is read and typed: money in US dollars, a list with spaces between."""
    if value is msgspec.UNSET:
        return ""
    if isinstance(value, tuple | list):
        return " ".join(value_words(field, each) for each in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if kind_of_name(field) is FieldKind.MONEY and str(value).isdigit():
        return f"{int(value) // 100}.{int(value) % 100:02d}"
    return str(value)


def condition_words(each: RuleCondition) -> h.Node:
    unit = " USD" if kind_of_name(each.field) is FieldKind.MONEY and each.value is not msgspec.UNSET else ""
    value = "" if each.value is msgspec.UNSET else f" {value_words(each.field, each.value)}{unit}"
    return [h.code[each.field], f" {OP_WORDS[each.op]}", outsider(value)]


def conditions(rule: Rule) -> h.Element:
    return h.ul(".plain")[(h.li[condition_words(each)] for each in rule.when)]


def difference(in_force: Rule | None, newest: Rule) -> h.Node:
    """The newest text beside the one in force, row by row."""
    if in_force is None:
        return h.p["No text of it is in force."]
    table = compared({"In force": in_force, "New": newest}, "Difference")
    return h.p["The newest text is the one in force."] if table is None else table


def compared(texts: Mapping[str, Rule], label: str) -> h.Element | None:
    """The parts in which the texts differ, a column each by its heading; None where they are equal."""
    columns = {heading: _parts(rule) for heading, rule in texts.items()}
    names = dict.fromkeys(name for parts in columns.values() for name in parts)
    changed = [name for name in names if len({parts.get(name) for parts in columns.values()}) > 1]
    if not changed:
        return None
    return wide_table(
        label,
        ("Part", *columns),
        (
            h.tr[
                h.th(scope="row")[name],
                (h.td(data_label=heading)[outsider(parts.get(name), NO_VALUE)] for heading, parts in columns.items()),
            ]
            for name in changed
        ),
        style="endpoints",
    )


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


def backtests_view(tests: Sequence[Backtest], rule: Rule) -> h.Node:
    """The newest run; beside a preview, also the newest full one, which says if it was of an earlier text."""
    if not tests:
        return h.p["It was not backtested yet."]
    newest = tests[0]
    full = next((each for each in tests if each.full is not msgspec.UNSET), None)
    if full is None or full is newest:
        return _backtest(newest, rule)
    return [h.h3["Preview"], _backtest(newest, rule), h.h3["Full backtest"], _backtest(full, rule)]


def _backtest(tested: Backtest, rule: Rule) -> h.Element:
    kept = "the newest of the window" if tested.sampled else "every transfer of the window"
    full = tested.full
    return h.div(".backtest")[
        h.p(".small")["Of an earlier text of the rule."] if tested.rule_sha256 != rule_hash(rule) else None,
        h.p[
            h.strong[f"{tested.matched:,} of {count(tested.scanned, 'transfer')} match"],
            f" ({kept}, {tested.days} days, run at ",
            moment(tested.at),
            f"). {tested.would_alert:,} would open an alert, {tested.would_hold:,} would hold; ",
            f"{tested.overlap_with_existing_alerts:,} have an alert already.",
        ],
        _full(full) if full is not msgspec.UNSET else None,
        h.h4["Newest matches"],
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
        h.h4["By week"],
        _weeks(full.by_week[-_SEEN_WEEKS:]),
        h.h4["False positives: matched, and labelled ok"],
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
            h.caption(".hidden")["Matches by week"],
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
        (h.li[h.a(href=thing_path("transfer", each.transfer_id))[outsider(each.transfer_id)]] for each in named)
    ]


def shadow_words(report: ShadowReport) -> str:
    if report.matched is None:
        return "not counted"
    return f"{report.matched:,} of {report.scanned or 0:,}"
