"""One transfer, party, account or program: its score explained, its alerts, and its timeline."""

import asyncio
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

import htpy as h

from clearhold.api.alerts.schemas import AlertsQuery
from clearhold.api.alerts.summaries import AlertSummary
from clearhold.api.console.components.timeline import timeline
from clearhold.api.console.components.words import SENTENCE_LETTERS, band_mark, moment, outsider, outsider_prose
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.explain.service import ActorExplained, TransferExplained
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.parties.routes import PartyQuery
from clearhold.api.timeline.routes import TimelinePage, TimelineQuery
from clearhold.api.transfers.service import TransferQuery
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
Explained = TransferExplained | ActorExplained


async def show(visit: Visit) -> Answer:
    kind, id_ = visit.params["kind"], visit.params["id"]
    query = _TIMELINE.read_query(list(visit.query.items()))
    page = await visit.services.timeline.page(visit.principal, kind, id_, query)
    explained, alerts = await asyncio.gather(_explained(visit, kind, id_), _alerts(visit, kind, id_))
    content = h.div(".thing")[
        h.header[
            h.p(".small")[kind],
            h.h1[h.code[id_]],
            _score(explained),
        ],
        _reasons(explained),
        h.section[h.h2["Alerts"], _alert_list(alerts)],
        h.section[h.h2["What happened"], _filters(visit, query), timeline(page.data), _more(visit, page)],
    ]
    return HtmlAnswer(id_, content)


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
