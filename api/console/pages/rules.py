"""Rules: the list with live shadow, the editor, backtests, and the request that another person puts one in force."""

from collections.abc import Mapping
from typing import Final

import htpy as h
import msgspec

from clearhold.api.console.components.rule_form import (
    ROW,
    condition_row,
    row_in,
    rows_in,
    rule_body,
    rule_fields,
    typed_rule,
    with_rows,
)
from clearhold.api.console.components.rules import (
    RULES,
    backtests_view,
    compared,
    conditions,
    difference,
    shadow_words,
    transfers,
)
from clearhold.api.console.components.settings import done, refusal
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import NO_VALUE, count, outsider
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.head import etag_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.rules.schemas import (
    BacktestRequest,
    NewRule,
    RuleChange,
    RulesQuery,
    RulesVersion,
    RulesVersionsQuery,
    rule_failures,
)
from clearhold.features.core.errors import RiskError
from clearhold.features.core.rules import Rule, RuleStatus, ShadowReport
from clearhold.features.rules.language import MAX_CONDITIONS

PATH: Final = RULES
NEW: Final = f"{RULES}-new"
ONE_ROW: Final = ROW
MOST_SHADOWS: Final = 8
"""Counts on the list; those of other rules are on their pages."""

_NEW: Final = RequestSchema(NewRule, rules=rule_failures)
_CHANGE: Final = RequestSchema(RuleChange)
_RULE: Final = msgspec.json.Decoder(Rule)
_RULES: Final = msgspec.json.Decoder(tuple[Rule, ...])
_VERSIONS: Final = msgspec.json.Decoder(tuple[RulesVersion, ...])
_DONE: Final = {
    "saved": "Saved as a draft. It has no effect before it is backtested and activated.",
    "tested": "Backtested. Live shadow counts its matches from now on.",
    "requested": "Requested. It is in force once another person has approved it.",
    "paused": "Paused. It opens no more alerts.",
}


async def show_all(visit: Visit) -> Answer:
    listed = await visit.services.rules.list(visit.principal, RulesQuery())
    rules = _RULES.decode(listed.body)
    counted = [each for each in rules if each.status is RuleStatus.TESTING][:MOST_SHADOWS]
    shadows = {each.id: await _shadow(visit, each.id) for each in counted}
    content = h.div(".rules")[
        h.h1["Rules"],
        h.p[count(len(rules), "rule"), ". A rule opens alerts that a person decides; it never changes a score."],
        None if visit.signed_in.is_read_only else h.p[h.a(".button", href=NEW)["Write a rule"]],
        _table(rules, shadows) if rules else h.p["No rule was written yet."],
        h.p(".small")["There are more rules; the newest are here."] if listed.next_cursor else None,
    ]
    return HtmlAnswer("Rules", content)


def _table(rules: tuple[Rule, ...], shadows: Mapping[str, ShadowReport | str]) -> h.Element:
    heads = ("Rule", "Newest text", "Action", "Severity", "Shadow matches")
    return wide_table(
        "Rules",
        heads,
        (
            h.tr[
                h.th(scope="row")[h.a(href=f"{PATH}/{each.id}")[outsider(each.name)]],
                h.td(data_label="Newest text")[each.status.value],
                h.td(data_label="Action")[each.action.value],
                h.td(data_label="Severity")[each.severity.value],
                h.td(data_label="Shadow matches")[_shadow_cell(shadows.get(each.id))],
            ]
            for each in rules
        ),
        style="endpoints",
    )


def _shadow_cell(report: ShadowReport | str | None) -> str:
    return shadow_words(report) if isinstance(report, ShadowReport) else report or NO_VALUE


async def _shadow(visit: Visit, rule_id: str) -> ShadowReport | str:
    """The report, or why it cannot be read now."""
    try:
        return await visit.services.rules.shadow(visit.principal, rule_id)
    except RiskError as error:
        return str(error)


async def show_new(visit: Visit) -> Answer:
    return _editor(visit, {}, None)


async def create(visit: Visit) -> Answer:
    stepped = _stepped(visit.form)
    if stepped is not None:
        return _editor(visit, stepped, None)
    try:
        body, _ = _NEW.decode(msgspec.json.encode(rule_body(visit.form)))
        rule = await visit.services.rules.create(visit.principal, body, visit.effect_id())
    except RiskError as error:
        page = _editor(visit, visit.form, str(error))
        return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))
    return RedirectAnswer(f"{PATH}/{rule.id}?done=saved")


def _stepped(form: Mapping[str, str]) -> dict[str, str] | None:
    """The form with a row more or less; None where it is to be saved."""
    step, rows = form.get("step", ""), rows_in(form)
    if step == "add" and len(rows) < MAX_CONDITIONS:
        return with_rows(form, [*rows, ("", "gte", "")])
    if step == "choices":
        return dict(form)
    if step.startswith("remove."):
        return with_rows(form, [row for at, row in enumerate(rows) if step != f"remove.{at}"])
    return None


async def show_row(visit: Visit) -> Answer:
    """One row of the form, with the choices of its field."""
    numbered = row_in(visit.query)
    if numbered is None or visit.target is None:
        return RedirectAnswer(NEW)
    return HtmlAnswer("A row", condition_row(*numbered, visit.hx))


def _editor(visit: Visit, typed: Mapping[str, str], refused: str | None) -> HtmlAnswer:
    programs = visit.services.programs.list(visit.principal, source=None)
    content = h.div(".rules")[
        h.h1["Write a rule"],
        h.p["This session may read and not write."]
        if visit.signed_in.is_read_only
        else visit.form_of(
            NEW,
            h.button(".hidden", type="submit", tabindex="-1", aria_hidden="true")["Save"],
            rule_fields(typed, programs, refused, visit.hx, is_new=True),
            h.button(".main", type="submit")["Save the draft"],
        ),
    ]
    return HtmlAnswer("Write a rule", content)


async def show(visit: Visit) -> Answer:
    return await _page(visit)


async def replace(visit: Visit) -> Answer:
    stepped = _stepped(visit.form)
    if stepped is not None:
        return await _page(visit, typed=stepped)
    rule_id, before = visit.params["rule_id"], _text_before(visit.form)
    try:
        body, _ = _NEW.decode(msgspec.json.encode(rule_body(visit.form)))
        await visit.services.rules.replace(
            visit.principal,
            rule_id,
            body,
            is_current=lambda known: before is not None and _etag(known) == _etag(before),
            effect_id=visit.effect_id(),
        )
    except RiskError as error:
        page = await _page(visit, typed=visit.form, unsaved=str(error))
        return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))
    return RedirectAnswer(f"{PATH}/{rule_id}?done=saved")


async def backtest(visit: Visit) -> Answer:
    """Over the newest transfers, or over every one of 90 days."""
    rule_id = visit.params["rule_id"]
    try:
        request = BacktestRequest(full=visit.form.get("full") == "true")
        await visit.services.rules.backtest(visit.principal, rule_id, request, visit.effect_id())
    except RiskError as error:
        return await _refused(visit, error)
    return RedirectAnswer(f"{PATH}/{rule_id}?done=tested#backtest")


async def activate(visit: Visit) -> Answer:
    rule_id = visit.params["rule_id"]
    try:
        await visit.services.rules.activate(visit.principal, rule_id, _change(visit), visit.effect_id())
    except RiskError as error:
        return await _refused(visit, error)
    return RedirectAnswer(f"{PATH}/{rule_id}?done=requested")


async def pause(visit: Visit) -> Answer:
    rule_id = visit.params["rule_id"]
    try:
        await visit.services.rules.pause(visit.principal, rule_id, _change(visit), visit.effect_id())
    except RiskError as error:
        return await _refused(visit, error)
    return RedirectAnswer(f"{PATH}/{rule_id}?done=paused")


def _change(visit: Visit) -> RuleChange:
    body, _ = _CHANGE.decode(msgspec.json.encode({"note": visit.form.get("note", "").strip() or None}))
    return body


async def _refused(visit: Visit, error: RiskError) -> HtmlAnswer:
    page = await _page(visit, refused=str(error))
    return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))


def _etag(rule: Rule) -> str:
    return etag_of(msgspec.json.encode(rule))


async def in_force(visit: Visit, rule_id: str) -> Rule | None:
    """The text of a rule in the newest version of the rules, if that version is in force and has it."""
    listed = await visit.services.rules.versions(visit.principal, RulesVersionsQuery())
    active = next((each for each in _VERSIONS.decode(listed.body) if each.active), None)
    return next((each for each in active.rules if each.id == rule_id), None) if active is not None else None


async def _page(
    visit: Visit, typed: Mapping[str, str] | None = None, unsaved: str | None = None, refused: str | None = None
) -> HtmlAnswer:
    services, principal, rule_id = visit.services, visit.principal, visit.params["rule_id"]
    rule = await services.rules.read(principal, rule_id)
    active = await in_force(visit, rule_id)
    tests = await services.rules.backtests(principal, rule_id)
    shadow = await _shadow(visit, rule_id)
    writes = not visit.signed_in.is_read_only and rule.status is not RuleStatus.ARCHIVED
    path = f"{PATH}/{rule.id}"
    content = h.div(".rules")[
        h.header[
            h.p(".small")["rule ", h.code[rule.id]],
            h.h1[outsider(rule.name)],
            h.p[f"Newest text: {rule.status.value}. Action {rule.action.value}, severity {rule.severity.value}."],
        ],
        done(visit, _DONE) if refused is None and unsaved is None and typed is None else None,
        refusal(refused),
        h.section[h.h2["Conditions"], conditions(rule)],
        h.section("#difference")[h.h2["Against the rule in force"], difference(active, rule)],
        h.section("#backtest")[
            h.h2["Backtest"],
            _test_forms(visit, path) if writes else None,
            backtests_view(tests, rule),
        ],
        h.section[h.h2["Live shadow"], _shadow_part(shadow)],
        _requests(visit, path, is_active=active is not None) if writes else None,
        _edit(visit, path, rule, typed, unsaved) if writes else None,
    ]
    return HtmlAnswer(rule.name, content)


def _test_forms(visit: Visit, path: str) -> h.Element:
    return h.div(".rule-tests")[
        visit.form_of(f"{path}/backtest", h.button(type="submit")["Preview on the newest transfers"]),
        visit.form_of(
            f"{path}/backtest",
            h.input(type="hidden", name="full", value="true"),
            h.button(type="submit")["Full backtest over 90 days"],
        ),
    ]


def _shadow_part(report: ShadowReport | str) -> h.Node:
    if not isinstance(report, ShadowReport):
        return h.p[report]
    if report.matched is None:
        return h.p["Not counted: only a rule in testing, or one in force that logs, is counted beside the stream."]
    return [h.p[f"Matches {shadow_words(report)} transfers since {report.since}."], transfers(report.sample_transfers)]


def _requests(visit: Visit, path: str, *, is_active: bool) -> h.Element:
    return h.section[
        h.h2["In force"],
        visit.form_of(
            f"{path}/activate",
            h.label["Why", h.textarea(name="note", rows="2")],
            h.button(".main", type="submit")["Request activation"],
            h.p(".small")["It needs a backtest of this text, less than 24 hours old. Another person approves it."],
        ),
        visit.form_of(
            f"{path}/pause",
            h.label["Why it is paused", h.textarea(name="note", rows="2")],
            h.button(type="submit")["Pause at once"],
        )
        if is_active
        else None,
    ]


def _edit(visit: Visit, path: str, rule: Rule, typed: Mapping[str, str] | None, unsaved: str | None) -> h.Element:
    """A text that was changed in between is refused once: the form then shows that change, and takes its digest."""
    programs = visit.services.programs.list(visit.principal, source=None)
    fields = typed_rule(rule) if typed is None else typed
    before = _text_before(typed)
    is_changed = before is not None and _etag(before) != _etag(rule)
    is_refused = is_changed and unsaved is not None
    known = before if is_changed and not is_refused and before is not None else rule
    return h.details("#edit", open=typed is not None)[
        h.summary["Write it again"],
        _changed_between(before, rule) if is_refused and before is not None else None,
        visit.form_of(
            path,
            h.input(type="hidden", name="before", value=msgspec.json.encode(known).decode()),
            h.button(".hidden", type="submit", tabindex="-1", aria_hidden="true")["Save"],
            rule_fields(fields, programs, None if is_refused else unsaved, visit.hx, is_new=False),
            h.button(".main", type="submit")["Save the draft"],
        ),
    ]


def _text_before(typed: Mapping[str, str] | None) -> Rule | None:
    """The text that a form began with."""
    if typed is None:
        return None
    try:
        return _RULE.decode(typed.get("before", ""))
    except msgspec.DecodeError:
        return None


def _changed_between(before: Rule, rule: Rule) -> h.Element:
    return h.div(".refusal", role="alert")[
        h.p[
            h.strong["The rule was changed while you wrote. "],
            "Nothing was saved. Your words are below; saved now, they replace the change.",
        ],
        compared({"You began with": before, "It is now": rule}, "The change"),
    ]
