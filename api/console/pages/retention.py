"""Retention: how long everything is kept, and the request to keep tables of the lake for fewer or more days."""

from collections.abc import Mapping
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.actions.schemas import Action, ActionsQuery
from clearhold.api.console.components.settings import RETENTION, done, refusal, settings_frame
from clearhold.api.console.components.words import count, moment, outsider
from clearhold.api.console.pages.policies import requested_version
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.policies.service import PoliciesQuery, Policy, PolicyPrefix
from clearhold.features.core.entries.actions import ActionStatus, ActionType
from clearhold.features.core.errors import FieldCode, RiskError, invalid
from clearhold.features.core.principal import KeyScope
from clearhold.features.policy.bodies import RETENTION as KIND
from clearhold.features.policy.seeds import FLOORS, Floor

PATH: Final = RETENTION
MOST_DIGITS: Final = 6
_POLICIES: Final = msgspec.json.Decoder(tuple[Policy, ...])
_LISTED: Final = PoliciesQuery(prefix=(PolicyPrefix.RETENTION,))
_WAITING: Final = ActionsQuery(status=(ActionStatus.REQUESTED,), type=(ActionType.ACTIVATE_POLICY,), limit=100)
_KEPT: Final = (
    ("The record: decisions, actions, approvals, labels", "permanently"),
    ("The log of events as the bank sent them, and the database made from it", "permanently"),
    ("Signed checkpoints and their keys", "permanently"),
    ("Finished deliveries of webhooks", "30 days"),
    ("Answers to repeated requests under one Idempotency-Key", "at least 24 hours"),
    ("Sessions of the console", "30 minutes without a request, 12 hours in all"),
    ("Invitations of persons", "24 hours"),
)


class RetentionView(msgspec.Struct, frozen=True, kw_only=True):
    """``days`` are those in force by table; ``waiting`` are activations that wait for a second person."""

    versions: tuple[Policy, ...]
    version: str
    days: Mapping[str, int | None]
    waiting: tuple[Action, ...]


async def show(visit: Visit) -> Answer:
    return await _page(visit)


async def request(visit: Visit) -> Answer:
    """A new version of the policy, and the request that another person puts it in force."""
    try:
        view = await _view(visit)
        body = {"version": _next_version(view.versions), "body": {"tables": _typed_days(visit.form)}}
        await requested_version(visit, body)
    except RiskError as error:
        page = await _page(visit, str(error))
        return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))
    return RedirectAnswer(f"{PATH}?done=requested")


def _next_version(versions: tuple[Policy, ...]) -> str:
    return f"{KIND}-v{1 + max(int(each.version.rpartition('-v')[2]) for each in versions)}"


def _typed_days(form: Mapping[str, str]) -> list[dict[str, Any]]:
    """The tables with days; an empty field keeps its table permanently."""
    tables = []
    for table, floor in FLOORS.items():
        text = form.get(table, "").strip()
        if floor.days is None or not text:
            continue
        if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
            raise invalid(table, "must be a whole number of days, or empty for permanently", FieldCode.MALFORMED)
        tables.append({"table": table, "days": int(text)})
    return tables


async def _view(visit: Visit) -> RetentionView:
    principal = visit.principal
    listed = await visit.services.policies.list(principal, _LISTED)
    versions = _POLICIES.decode(listed.body)
    in_force = next(each for each in versions if each.active)
    waiting: tuple[Action, ...] = ()
    if principal.has_scope(KeyScope.ACTIONS):
        requested = (await visit.services.actions.page(principal, _WAITING)).data
        waiting = tuple(each for each in requested if _version_in(each).startswith(f"{KIND}-"))
    return RetentionView(
        versions=versions,
        version=in_force.version,
        days={each["table"]: each["days"] for each in in_force.body["tables"]},
        waiting=waiting,
    )


def _version_in(action: Action) -> str:
    """The version that an action puts in force."""
    return str((action.change or {}).get("version", ""))


async def _page(visit: Visit, refused: str | None = None) -> HtmlAnswer:
    view = await _view(visit)
    writes = not visit.signed_in.is_read_only
    content = settings_frame(
        visit,
        h.h1["Retention"],
        done(visit, {"requested": "Requested. It is in force once another person has approved it."}),
        h.section[
            h.h2["Kept by this service"],
            h.dl(".particulars.kept")[((h.dt[name], h.dd[length]) for name, length in _KEPT)],
        ],
        h.section[
            h.h2["The lake for analysts"],
            h.p[
                "A copy of the database for queries. The policy ",
                h.code[view.version],
                " sets the days that each table keeps; the record and the log are kept whatever it says.",
            ],
            _waiting(view.waiting),
            _groups(view),
        ],
        _form(visit, view, refused) if writes else None,
    )
    return HtmlAnswer("Retention", content)


def _waiting(waiting: tuple[Action, ...]) -> h.Node:
    if not waiting:
        return None
    return h.ul(".plain")[
        (
            h.li[
                h.a(href=f"/console/approvals#action-{each.id}")["Waits for a second person"],
                f": {_version_in(each)}, requested by ",
                outsider(each.requested_by),
                " ",
                moment(each.created_at),
            ]
            for each in waiting
        )
    ]


def _groups(view: RetentionView) -> h.Node:
    """The tables by the fewest days that a policy may set, and why."""
    by_floor: dict[Floor, list[str]] = {}
    for table, floor in FLOORS.items():
        by_floor.setdefault(floor, []).append(table)
    return [
        h.section(".floor")[
            h.h3["Always permanently" if floor.days is None else f"At least {count(floor.days, 'day')}"],
            h.p(".small")[f"{floor.why[:1].upper()}{floor.why[1:]}."],
            h.dl(".lengths")[(h.div[h.dt[h.code[each]], h.dd[_length(view.days.get(each))]] for each in tables)],
        ]
        for floor, tables in by_floor.items()
    ]


def _length(days: int | None) -> str:
    return "permanently" if days is None else count(days, "day")


def _form(visit: Visit, view: RetentionView, refused: str | None) -> h.Element:
    typed = visit.form
    current = {table: str(days) for table, days in view.days.items() if days is not None}
    return h.section("#new-retention.asks")[
        h.details(open=refused is not None)[
            h.summary["Request a change"],
            visit.form_of(
                PATH,
                refusal(refused),
                h.p["Days for each table; empty keeps it permanently. Days that have ended do not come back."],
                h.div(".table-days")[
                    (
                        h.label[
                            table,
                            h.input(
                                name=table,
                                value=typed.get(table, current.get(table, "")) if typed else current.get(table, ""),
                                inputmode="numeric",
                                autocomplete="off",
                                placeholder=f"{floor.days:,} or more",
                            ),
                        ]
                        for table, floor in FLOORS.items()
                        if floor.days is not None
                    )
                ],
                h.label["Why", h.textarea(name="note", rows="2", required=True)[typed.get("note", "")]],
                h.button(".main", type="submit")["Request"],
                h.p(".small")["It is in force once another person has approved it."],
            ),
        ]
    ]
