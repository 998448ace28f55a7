"""Today: waiting and late stacks, in words; the worst programs, a row each; the scores of the last hour; the decisions
of the platform.
"""

import asyncio
from collections import Counter
from typing import Final

import htpy as h
import msgspec

from clearhold.api.actions.schemas import Action
from clearhold.api.console.components.figures import score_mix
from clearhold.api.console.components.program_rows import worst_programs
from clearhold.api.console.components.requests import APPROVALS, WAITING_REQUESTS, waiting_line
from clearhold.api.console.components.words import count, hint, moment, money
from clearhold.api.console.frame import places_of
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.counts.routes import DUE_SOON_US, Counts, CountsQuery
from clearhold.api.metrics.routes import Metrics, MetricsQuery
from clearhold.api.overview.routes import Overview, OverviewQuery
from clearhold.api.record.service import CheckpointsQuery, RecordCheckpoint
from clearhold.features.core.canonical import Chain
from clearhold.features.core.errors import ForbiddenError, UnavailableError
from clearhold.features.core.instants import format_instant, written_instant
from clearhold.features.core.principal import KeyScope

PATH: Final = "/console/today"


class TodayView(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows; ``counts`` and ``held_cents`` are None for a key that may not read alerts, ``checkpoints``
    for one that may not read the record, ``requests`` for a session that may not answer them, ``metrics``
    while the state of a program cannot be read.
    """

    counts: Counts | None
    held_cents: int | None
    requests: tuple[Action, ...] | None
    overview: Overview
    metrics: Metrics | None
    checkpoints: tuple[RecordCheckpoint, ...] | None


async def show(visit: Visit) -> Answer:
    """Where a person begins; a key without its scope begins at its first place."""
    services, principal = visit.services, visit.principal
    places = places_of(principal)
    if places[0].path != PATH:
        return RedirectAnswer(places[0].path)
    counts, held_cents, requests, overview, metrics, checkpoints = await asyncio.gather(
        _counts(visit),
        _held_money(visit),
        _requests(visit),
        services.overview.read(principal, OverviewQuery()),
        _metrics(visit),
        _checkpoints(visit),
    )
    view = TodayView(
        counts=counts,
        held_cents=held_cents,
        requests=requests,
        overview=overview,
        metrics=metrics,
        checkpoints=checkpoints,
    )
    return HtmlAnswer("Today", _page(visit, view))


async def _counts(visit: Visit) -> Counts | None:
    if not visit.principal.has_scope(KeyScope.ALERTS_READ):
        return None
    return await visit.services.counts.read(visit.principal, CountsQuery())


async def _held_money(visit: Visit) -> int | None:
    if not visit.principal.has_scope(KeyScope.ALERTS_READ):
        return None
    return await visit.services.stacks.held_cents(visit.principal)


async def _requests(visit: Visit) -> tuple[Action, ...] | None:
    """The newest that wait for a second person."""
    if visit.signed_in.is_read_only or not visit.principal.has_scope(KeyScope.ACTIONS):
        return None
    return tuple((await visit.services.actions.page(visit.principal, WAITING_REQUESTS)).data)


async def _metrics(visit: Visit) -> Metrics | None:
    try:
        return await visit.services.metrics.read(visit.principal, MetricsQuery(days=1))
    except UnavailableError:
        return None


async def _checkpoints(visit: Visit) -> tuple[RecordCheckpoint, ...] | None:
    """The newest signed checkpoint of each chain that has one."""
    if not visit.principal.has_scope(KeyScope.RECORD):
        return None
    try:
        pages = [
            await visit.services.record.checkpoints(visit.principal, CheckpointsQuery(chain=(chain,), limit=1))
            for chain in Chain
        ]
    except ForbiddenError:
        return None
    return tuple(each for page in pages for each in page.data)


def _page(visit: Visit, view: TodayView) -> h.Element:
    return h.div(".today")[
        h.h1["Today"],
        _summary(view.counts, view.held_cents) if view.counts is not None else None,
        h.section[h.h2["Approvals"], waiting_line(visit, view.requests)] if view.requests is not None else None,
        h.section[h.h2["Programs"], worst_programs(view.overview)],
        h.section[h.h2["Scores of the last hour"], score_mix(_mix_of(view.overview))],
        h.section[h.h2["Decided by the platform alone, this UTC day"], _platform(view.metrics)],
        h.section[h.h2["Record"], _record(visit, view.checkpoints)] if view.checkpoints is not None else None,
    ]


def _summary(counts: Counts, held_cents: int | None) -> h.Element:
    """The day in words, each figure a link to its list; as in the queue, a stack is one thing to decide."""
    queue, soon, late = "/console/queue", counts.stacks_due_soon, counts.stacks_overdue
    return h.p(".lead")[
        h.a(href=queue)[f"{counts.stacks:,} to decide"],
        (f", {count(counts.waiting, 'alert')} in all, ", h.a(href=f"{queue}?sort=worst")["the worst first"])
        if counts.stacks
        else None,
        ". ",
        h.a(href=f"{queue}?sort=dueAt", class_="soon" if soon else None)[
            f"{f'{soon:,}' if soon else 'None'} {'runs' if soon <= 1 else 'run'} out before {_until(counts.as_of)} UTC"
        ],
        ", ",
        h.a(href=f"{queue}?overdue=true", class_="late" if late else None)[
            f"{f'{late:,}' if late else 'none'} {'is' if late <= 1 else 'are'} late"
        ],
        ". ",
        h.a(href=APPROVALS)[_approvals(counts.approvals)],
        ".",
        (" ", h.a(href=f"{queue}?sort=heldCents")[f"{money(held_cents)} is held"], ".") if held_cents else None,
    ]


def _mix_of(overview: Overview) -> Counter[str]:
    """Transfers of the last hour by band; of simulated programs alone where there are no others."""
    real = [each for each in overview.programs if each.simulated is not True]
    return sum((Counter(each.scored_last_hour) for each in real or overview.programs), Counter())


def _until(as_of: str) -> str:
    """The time of day at which the four hours end."""
    return format_instant(written_instant(as_of) + DUE_SOON_US)[11:16]


def _approvals(number: int) -> str:
    return f"{count(number, 'request')} {'waits' if number == 1 else 'wait'} for a second person"


def _platform(metrics: Metrics | None) -> h.Node:
    if metrics is None:
        return h.p["The state of a program cannot be read right now. Load the page again in a moment."]
    closed, overturned = metrics.auto_closed, metrics.overturned
    if not closed.n:
        return h.p["No alert opened today."]
    share = f"{closed.value:.0%}" if closed.value is not None else "none"
    turned = f"{overturned.value:.0%} of {count(overturned.n, 'decision')}" if overturned.value is not None else "none"
    return h.p[
        f"{share} of {count(closed.n, 'alert')} that opened today closed by the policy alone. ",
        f"People overturned: {turned}.",
    ]


def _record(visit: Visit, checkpoints: tuple[RecordCheckpoint, ...]) -> h.Node:
    """The signed checkpoints, and a way to check the record now."""
    verify = "/console/verify"
    signed = (
        h.span[f"Checkpoint of {each.chain.value} signed ", moment(each.created_at), f", {count(each.size, 'link')}. "]
        for each in checkpoints
    )
    return h.p[
        signed if checkpoints else "No checkpoint is signed yet. ",
        h.a(
            visit.hx(get=verify, target="#verified", swap="innerHTML"), href=verify, data_key="v", aria_keyshortcuts="v"
        )["Verify"],
        hint("v"),
        h.span("#verified", aria_live="polite"),
    ]
