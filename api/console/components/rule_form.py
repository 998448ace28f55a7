"""The form of a rule: rows of conditions, each with the choices of its field, and the body that they make."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import htpy as h

from clearhold.api.console.components.limits import typed_cents
from clearhold.api.console.components.rules import FIELD_OF, OP_WORDS, kind_of_name, value_words
from clearhold.api.rules.schemas import FIELDS
from clearhold.features.core.errors import FieldCode, invalid
from clearhold.features.core.principal import Program
from clearhold.features.core.rules import Rule, RuleAction, RuleOp
from clearhold.features.core.vocabulary import Severity
from clearhold.features.rules.language import LIST_OPS, MAX_CONDITIONS, NULL_OPS, RULE_FIELD_OF, FieldKind

ROW: Final = "/console/rules-row"
"""The address of one row of the form, for its newest field and operation."""
MOST_BOXES: Final = 20
"""A longer vocabulary is typed, with its words offered."""
Hx = Callable[..., dict[str, str]]
_BOOLEANS: Final = ("true", "false")
_HINTS: Final[Mapping[FieldKind, str]] = {
    FieldKind.MONEY: "USD, such as 25000.00",
    FieldKind.INTEGER: "a whole number",
    FieldKind.NUMBER: "a number, such as 0.25",
    FieldKind.BOOLEAN: "true or false",
    FieldKind.WORD: "a word; several with spaces between",
    FieldKind.COUNTRIES: "countries, such as US MX",
}
_MODES: Final = {FieldKind.MONEY: "decimal", FieldKind.INTEGER: "numeric", FieldKind.NUMBER: "decimal"}


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


def row_in(typed: Mapping[str, str]) -> tuple[int, tuple[str, str, str]] | None:
    """The number and the parts of the one row that a query has; None where it has none."""
    at = next((each for each in range(MAX_CONDITIONS) if f"field.{each}" in typed), None)
    return None if at is None else (at, rows_in(typed)[0])


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
    kind = kind_of_name(field) or FieldKind.WORD
    if op in set(LIST_OPS):
        return [_scalar(path, kind, each) for each in _several(kind, text)]
    return _scalar(path, kind, text)


def _several(kind: FieldKind | None, text: str) -> list[str]:
    """The values of a list; words have commas or spaces between, and an amount may have commas in it."""
    return (text.replace(",", " ") if kind in {FieldKind.WORD, FieldKind.COUNTRIES} else text).split()


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
    typed: Mapping[str, str], programs: Sequence[Program], refusal: str | None, hx: Hx, *, is_new: bool
) -> list[h.Node]:
    """The inputs of a rule; a refusal of one row is beside that row. ``hx`` makes htmx attributes."""
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
            (condition_row(at, row, hx, refusal if at == faulty else None) for at, row in enumerate(rows)),
            h.button(type="submit", name="step", value="add")["Add a row"],
            h.noscript[h.button(type="submit", name="step", value="choices")["Offer the choices of each field"]],
        ],
        h.label["Note", h.textarea(name="note", rows="2", maxlength="2000")[typed.get("note", "")]],
    ]


def condition_row(at: int, row: tuple[str, str, str], hx: Hx, refusal: str | None = None) -> h.Element:
    """Field, operation and value; the last two offer what the field has."""
    field, op, _ = row
    known = FIELD_OF.get(field)
    number = at + 1
    again = hx(get=ROW, trigger="change", include=f"#row-{at}", target=f"#row-{at}", swap="outerMorph")
    ops = OP_WORDS if known is None else {each: OP_WORDS[each] for each in known.ops}
    return h.div(".rule-row", id=f"row-{at}")[
        h.label[
            f"Field {number}",
            h.input(again, id=f"field-{at}", name=f"field.{at}", value=field, list="rule-fields", autocomplete="off"),
        ],
        h.label[
            f"Operation {number}",
            h.select(again, id=f"op-{at}", name=f"op.{at}")[
                (h.option(value=each.value, selected=each == op)[words] for each, words in ops.items())
            ],
        ],
        _value_part(at, row, refusal),
        h.button(type="submit", name="step", value=f"remove.{at}", aria_label=f"Remove row {number}")["Remove"],
        h.p(".small")[_hint(field, known.type)] if known is not None else None,
        h.p(".refusal", role="alert", id=f"fault-{at}")[refusal] if refusal else None,
    ]


def _value_part(at: int, row: tuple[str, str, str], refusal: str | None) -> h.Node:
    """Choices where the field has few words, else an input, which offers the words of a longer list."""
    field, op, value = row
    known, label = FIELD_OF.get(field), f"Value {at + 1}"
    words = () if known is None else _BOOLEANS if known.type is FieldKind.BOOLEAN else known.values
    invalid_ = {"aria_invalid": "true", "aria_describedby": f"fault-{at}"} if refusal else {}
    common: dict[str, Any] = {"id": f"value-{at}", "name": f"value.{at}"} | invalid_
    if op in set(NULL_OPS):
        return h.input(type="hidden", name=f"value.{at}", value=value)
    if not words or len(words) > MOST_BOXES:
        offered = f"words-{at}" if words and op not in set(LIST_OPS) else None
        mode = _MODES.get(known.type) if known is not None else None
        return h.label[
            label,
            h.input(**common, value=value, autocomplete="off", inputmode=mode, list=offered),
            h.datalist(id=offered)[(h.option(value=each) for each in words)] if offered else None,
        ]
    typed = _several(FieldKind.WORD, value)
    choices = [*words, *(each for each in typed if each not in words)]
    if op not in set(LIST_OPS):
        none = h.option(value="", selected=not typed)["choose"]
        options = [h.option(value=each, selected=typed[:1] == [each])[each] for each in choices]
        return h.label[label, h.select(**common)[none, options]]
    return h.fieldset(".choices", aria_describedby=invalid_.get("aria_describedby"))[
        h.legend[label],
        (
            h.label[
                h.input(
                    type="checkbox",
                    name=f"value.{at}",
                    value=each,
                    checked=each in typed,
                    aria_invalid=invalid_.get("aria_invalid"),
                ),
                f" {each}",
            ]
            for each in choices
        ),
    ]


def _hint(field: str, kind: FieldKind) -> str:
    has_choices = kind is FieldKind.BOOLEAN or 0 < len(FIELD_OF[field].values) <= MOST_BOXES
    return f"{field}: {'' if has_choices else f'{_HINTS[kind]}. '}{RULE_FIELD_OF[field].meaning}"


def _select(label: str, name: str, options: Mapping[str, str], typed: Mapping[str, str]) -> h.Element:
    return h.label[
        label,
        h.select(name=name)[
            (h.option(value=value, selected=typed.get(name) == value)[words] for value, words in options.items())
        ],
    ]
