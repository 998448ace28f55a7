"""One transfer, party, account or program: its score explained, its alerts, and its timeline."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

import htpy as h

from clearhold.api.alerts.schemas import AlertsQuery
from clearhold.api.alerts.summaries import AlertSummary
from clearhold.api.console.components.limits import entity_use
from clearhold.api.console.components.party_facts import Stated, facts, scores, transfers
from clearhold.api.console.components.timeline import timeline
from clearhold.api.console.components.words import SENTENCE_LETTERS, band_mark, moment, outsider, outsider_prose
from clearhold.api.console.pages.proof import proof_form
from clearhold.api.console.pages.transfers import TRANSFER_FIELDS, transfers_path
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.explain.service import ActorExplained, TransferExplained
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.limits.service import Limits, LimitsQuery
from clearhold.api.parties.routes import Entity, PartyQuery
from clearhold.api.reports.schemas import ActorQuery, ActorReport
from clearhold.api.timeline.routes import TimelinePage, TimelineQuery
from clearhold.api.transfers.service import TransferQuery, TransfersQuery, TransferSummary
from clearhold.features.core.errors import NotFoundError, UnavailableError
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.party_timeline import TimelineKind, TimelineSubject

_TIMELINE: Final = RequestSchema(TimelineQuery)
_ALERTS: Final = RequestSchema(AlertsQuery)
_SUBJECT_FIELDS: Final[Mapping[str, str]] = {
    TimelineSubject.TRANSFER: "transferId",
    TimelineSubject.ACCOUNT: "accountId",
    TimelineSubject.ALERT: "",
    TimelineSubject.PROGRAM: "programId",
}
_SOME: Final = "20"
_LIMITS: Final = RequestSchema(LimitsQuery)
_TRANSFERS: Final = RequestSchema(TransfersQuery)
_ACTORS: Final = (*TRANSFER_FIELDS, TimelineSubject.AGENT)
_EXPORTED: Final = (TimelineSubject.ENTITY, TimelineSubject.COUNTERPARTY)
Explained = TransferExplained | ActorExplained


async def show(visit: Visit) -> Answer:
    kind, id_ = visit.params["kind"], visit.params["id"]
    query = _TIMELINE.read_query(list(visit.query.items()))
    page = await visit.services.timeline.page(visit.principal, kind, id_, query)
    explained, alerts, stated, report, newest = await asyncio.gather(
        _explained(visit, kind, id_),
        _alerts(visit, kind, id_),
        _stated(visit, kind, id_),
        _report(visit, kind, id_),
        _newest(visit, kind, id_),
    )
    limits = await _limits(visit, stated)
    name = _program_name(visit, id_) if kind == TimelineSubject.PROGRAM else _name(stated, report)
    content = h.div(".thing")[
        h.header[
            h.p(".small")[kind],
            h.h1[(outsider(name), " ") if name else None, h.code[id_]],
            _score(explained),
            _ways_on(visit, kind, id_),
            proof_form(visit, kind, id_),
        ],
        None if stated is None else facts(stated, visit.now),
        None if report is None else scores(report),
        None if limits is None else entity_use(limits),
        _reasons(explained),
        None if newest is None else transfers(newest, transfers_path(kind, id_, visit.query.get("programId"))),
        h.section[h.h2["Alerts"], _alert_list(alerts)],
        h.section[h.h2["What happened"], _filters(visit, query), timeline(page.data), _more(visit, page)],
    ]
    return HtmlAnswer(name or id_, content)


async def alert(visit: Visit) -> Answer:
    """An alert is read in its stack; without one, on its page."""
    row = (await visit.services.alerts.read(visit.principal, visit.params["alert_id"])).alert
    if row.stack_id is not None:
        return RedirectAnswer(f"/console/stacks/{row.stack_id}")
    return RedirectAnswer(f"/console/things/{TimelineSubject.ALERT.value}/{row.id}?programId={row.program_id}")


async def _explained(visit: Visit, kind: str, id_: str) -> Explained | None:
    """None for a thing without a score, and while its program's state cannot be read."""
    explanations, principal = visit.services.explanations, visit.principal
    program_id = visit.query.get("programId")
    try:
        match kind:
            case TimelineSubject.TRANSFER:
                return await explanations.transfer(principal, id_, TransferQuery(program_id=program_id))
            case TimelineSubject.ENTITY:
                return await explanations.entity(principal, id_, PartyQuery(program_id=program_id))
            case TimelineSubject.COUNTERPARTY:
                return await explanations.counterparty(principal, id_, PartyQuery(program_id=program_id))
            case TimelineSubject.AGENT if principal.has_scope(KeyScope.REPORTS):
                return await explanations.agent(principal, id_)
            case _:
                return None
    except (NotFoundError, UnavailableError):
        return None


async def _alerts(visit: Visit, kind: str, id_: str) -> tuple[AlertSummary, ...]:
    field = _SUBJECT_FIELDS.get(kind, "subjectId")
    if not field:
        return ()
    wanted = {"limit": _SOME, field: id_}
    if "programId" in visit.query:
        wanted["programId"] = visit.query["programId"]
    return tuple((await visit.services.alerts.summaries(visit.principal, _ALERTS.read_query([*wanted.items()]))).data)


async def _stated(visit: Visit, kind: str, id_: str) -> Stated | None:
    """The party or account; None for another thing, and for one that the bank has not stated."""
    services, query = visit.services, PartyQuery(program_id=visit.query.get("programId"))
    try:
        match kind:
            case TimelineSubject.ENTITY:
                return await services.parties.entity(visit.principal, id_, query)
            case TimelineSubject.COUNTERPARTY:
                return await services.parties.counterparty(visit.principal, id_, query)
            case TimelineSubject.ACCOUNT:
                return await services.accounts.read(visit.principal, id_, query)
            case _:
                return None
    except NotFoundError:
        return None


async def _limits(visit: Visit, stated: Stated | None) -> Limits | None:
    """The program's caps with the use of the entity; None for another thing."""
    if not isinstance(stated, Entity):
        return None
    query = _LIMITS.read_query([("entityId", stated.id)])
    try:
        return await visit.services.limits.read(visit.principal, stated.program_id, query)
    except UnavailableError:
        return None


async def _report(visit: Visit, kind: str, id_: str) -> ActorReport | None:
    """Of the last 30 days; None without the scope, and for a thing that is no actor."""
    if kind not in _ACTORS or not visit.principal.has_scope(KeyScope.REPORTS):
        return None
    try:
        query = ActorQuery(program_id=visit.query.get("programId"))
        return await visit.services.actor_reports.read(visit.principal, kind, id_, query)
    except (NotFoundError, UnavailableError):
        return None


async def _newest(visit: Visit, kind: str, id_: str) -> Sequence[TransferSummary] | None:
    field = TRANSFER_FIELDS.get(kind)
    if field is None:
        return None
    query = [("limit", _SOME), (field, id_)]
    if "programId" in visit.query:
        query.append(("programId", visit.query["programId"]))
    return await visit.services.transfers.newest(visit.principal, _TRANSFERS.read_query(query))


def _name(stated: Stated | None, report: ActorReport | None) -> str | None:
    name: str | None = getattr(stated, "name", None) or getattr(stated, "owner_name", None)
    return name or (None if report is None else report.name)


def _program_name(visit: Visit, id_: str) -> str | None:
    programs = visit.services.programs.list(visit.principal, source=None)
    return next((each.name for each in programs if each.id == id_), None)


def _ways_on(visit: Visit, kind: str, id_: str) -> h.Node:
    """Its money as a graph, and all its data as a file."""
    program = visit.query.get("programId")
    links = []
    if kind in TRANSFER_FIELDS:
        wanted = {"around": f"{kind}:{id_}"} | ({"programId": program} if program else {})
        links.append(h.a(href=f"/console/graph?{urlencode(wanted)}")["Money around it"])
    if kind in _EXPORTED and visit.principal.has_scope(KeyScope.RECORD) and visit.principal.program_ids is None:
        subject = {"kind": kind, "id": id_} | ({"program": program} if program else {})
        links.append(
            h.a(href=f"/console/record/subject?{urlencode(subject)}", download=True)["All its data, as a file"]
        )
    return h.p[[(each, " ") for each in links]] if links else None


def _score(explained: Explained | None) -> h.Node:
    if explained is None:
        return None
    version = explained.recomputed.version if isinstance(explained, TransferExplained) else explained.version
    return h.p[band_mark(explained.band, explained.score), h.span(".small")[f" {version}"]]


def _reasons(explained: Explained | None) -> h.Node:
    if explained is None or not explained.families:
        return None
    return h.section[
        h.h2["Why"],
        h.ul(".plain")[
            (
                h.li[
                    h.b[f"{family.counts:+d} {family.family or 'alone'}"],
                    ": ",
                    outsider(" ".join(each.sentence for each in family.reasons), most=None),
                ]
                for family in explained.families
            )
        ],
        h.ul(".plain")[(h.li[outsider(each.sentence, most=SENTENCE_LETTERS)] for each in explained.would_be_lower)],
    ]


def _alert_list(alerts: tuple[AlertSummary, ...]) -> h.Node:
    if not alerts:
        return h.p["None."]
    return h.ul(".plain")[
        (
            h.li[
                band_mark(each.band_at_alert, each.score_at_alert),
                " ",
                h.a(href=f"/console/alerts/{each.id}")[each.detector.replace("_", " ")],
                f" {each.status.value} · ",
                outsider_prose(each.sentence),
                " ",
                moment(each.opened_at),
            ]
            for each in alerts
        )
    ]


def _filters(visit: Visit, query: TimelineQuery) -> h.Element:
    """A link for each kind; the chosen one is current."""
    kept = {name: value for name, value in visit.query.items() if name == "programId"}
    chosen = None if query.kind is None else query.kind[0]
    links = [(None, "all"), *((kind, kind.value) for kind in TimelineKind)]
    return h.ul(".chips")[
        (
            h.li[
                h.a(
                    href="?" + urlencode(kept | ({} if kind is None else {"kind": kind.value})),
                    aria_current="true" if kind == chosen else None,
                )[word]
            ]
            for kind, word in links
        )
    ]


def _more(visit: Visit, page: TimelinePage) -> h.Node:
    if page.next_cursor is None:
        return None
    return h.p[h.a(href="?" + urlencode(dict(visit.query) | {"cursor": page.next_cursor}))["Earlier"]]
