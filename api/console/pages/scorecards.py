"""Scorecards: versions against the one in force, one in shadow beside it, and the request of an activation."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import htpy as h
import msgspec
from anyio import to_thread

from clearhold.api.config.yaml_text import body_text
from clearhold.api.console.components.nested import change_table
from clearhold.api.console.components.scorecards import comparison_view, points_of, signal_table
from clearhold.api.console.components.settings import SCORECARDS, done, refusal, settings_frame
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import count, moment, outsider
from clearhold.api.console.typed_yaml import typed_yaml
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.scorecards.service import (
    NewScorecard,
    ScorecardActivation,
    ScorecardReport,
    ScorecardVersion,
    card_failures,
)
from clearhold.features.core.errors import RateLimitedError, RiskError
from clearhold.features.core.scorecards import Scorecard
from clearhold.features.scorers.trs_v1.scorer import VERSION as DEFAULT

PATH: Final = SCORECARDS
_ONE: Final = f"{PATH}/{{version:str}}"
PROPOSE: Final = f"{_ONE}/propose"
SHADOW: Final = f"{_ONE}/shadow"
END_SHADOW: Final = f"{_ONE}/end-shadow"
ACTIVATE: Final = f"{_ONE}/activate"
_VERSIONS: Final = msgspec.json.Decoder(tuple[ScorecardVersion, ...])
_NEW: Final = RequestSchema(NewScorecard, rules=card_failures)
_ACTIVATION: Final = RequestSchema(ScorecardActivation)
_DONE: Final = {
    "proposed": "Proposed. It scores nothing before its activation is approved.",
    "shadow": "It runs in shadow from now on: each scored transfer also gets its score, for the comparison alone.",
    "ended": "Its shadow has ended. Its earlier scores stay.",
    "requested": "Requested. It scores once another person has approved it.",
}


async def show_all(visit: Visit) -> Answer:
    versions, programs = await _versions(visit), _programs(visit)
    heads = ("Version", "Name", "Of", "State", "Newest report", "Proposed")
    content = settings_frame(
        visit,
        h.h1["Scorecards"],
        h.p["The points that each signal of a transfer gives. A version is never edited; a change is a new card."],
        wide_table(
            "Scorecards",
            heads,
            (
                h.tr[
                    h.th(scope="row")[h.a(href=f"{PATH}/{each.version}")[each.version]],
                    h.td(data_label="Name")[outsider(each.name)],
                    h.td(data_label="Of")[outsider(programs.get(each.program_id or ""), "the whole bank")],
                    h.td(data_label="State")[_state(each)],
                    h.td(data_label="Newest report")[moment(each.reports[0].made_at if each.reports else None)],
                    h.td(data_label="Proposed")[moment(each.created_at)],
                ]
                for each in versions
            ),
            style="endpoints",
        ),
        h.p[h.a(href="/console/quality")["Quality"], " has the figures of the card in force."],
    )
    return HtmlAnswer("Scorecards", content)


def _state(version: ScorecardVersion) -> str:
    if version.active:
        return "● scores"
    if version.in_shadow:
        return "◐ in shadow"
    return "○ scored before" if version.was_active else "○ proposed"


async def show(visit: Visit) -> Answer:
    return await _page(visit)


async def propose(visit: Visit) -> Answer:
    """A card that began as a copy of this one, for the same program."""

    async def write() -> str:
        former = await visit.services.scorecards.read(visit.principal, visit.params["version"])
        body = {"card": await typed_yaml(visit.form.get("card", ""), "card"), "programId": former.program_id}
        new, _ = _NEW.decode(msgspec.json.encode(body))
        created = await visit.services.scorecards.create(visit.principal, new, visit.effect_id())
        return f"{PATH}/{created.version}?done=proposed"

    return await _written(visit, write)


async def start_shadow(visit: Visit) -> Answer:
    async def write() -> str:
        version = visit.params["version"]
        await visit.services.scorecards.start_shadow(visit.principal, version, visit.effect_id())
        return f"{PATH}/{version}?done=shadow"

    return await _written(visit, write)


async def end_shadow(visit: Visit) -> Answer:
    async def write() -> str:
        version = visit.params["version"]
        await visit.services.scorecards.end_shadow(visit.principal, version, visit.effect_id())
        return f"{PATH}/{version}?done=ended"

    return await _written(visit, write)


async def activate(visit: Visit) -> Answer:
    async def write() -> str:
        version, note = visit.params["version"], visit.form.get("note", "").strip()
        body, _ = _ACTIVATION.decode(msgspec.json.encode({"note": note}))
        await visit.services.scorecards.activate(visit.principal, version, body, visit.effect_id())
        return f"{PATH}/{version}?done=requested"

    return await _written(visit, write)


async def _written(visit: Visit, write: Callable[[], Awaitable[str]]) -> Answer:
    try:
        return RedirectAnswer(await write())
    except RiskError as error:
        page = await _page(visit, str(error))
        return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))


async def _versions(visit: Visit) -> tuple[ScorecardVersion, ...]:
    """Newest first, the default card last."""
    return _VERSIONS.decode((await visit.services.scorecards.list(visit.principal)).body)


def _programs(visit: Visit) -> dict[str, str]:
    return {each.id: each.name for each in visit.services.programs.list(visit.principal, source=None)}


async def _page(visit: Visit, refused: str | None = None) -> HtmlAnswer:
    services, principal = visit.services.scorecards, visit.principal
    version = await services.read(principal, visit.params["version"])
    champion = _champion(version, await _versions(visit))
    against = None if champion.version == version.version else await services.read(principal, champion.version)
    card = _card(version)
    content = settings_frame(
        visit,
        h.h1[version.version],
        done(visit, _DONE) if refused is None else refusal(refused),
        h.p[_state(version), ": ", outsider(version.name), ". Digest ", h.code(".digest")[version.card_sha256], "."],
        None
        if against is None
        else h.section("#difference")[
            h.h2[f"Against {against.version}, which scores"],
            change_table(points_of(_card(against)), points_of(card), (against.version, version.version)),
        ],
        await _comparison(visit, version),
        _reports(version.reports),
        h.section[h.h2[f"Its points ({count(len(card.signals), 'signal')})"], signal_table(card)],
        None if visit.signed_in.is_read_only else _forms(visit, version, await _typed(visit, card)),
    )
    return HtmlAnswer(version.version, content)


def _champion(version: ScorecardVersion, versions: tuple[ScorecardVersion, ...]) -> ScorecardVersion:
    """The card that scores where this one would: the program's, else the tenant's, else the default one."""
    for program_id in (version.program_id, None):
        for each in versions:
            if each.active and each.program_id == program_id:
                return each
    return versions[-1]


def _card(version: ScorecardVersion) -> Scorecard:
    assert isinstance(version.card, Scorecard), "one version is read with its card"
    return version.card


async def _comparison(visit: Visit, version: ScorecardVersion) -> h.Node:
    """Champion against challenger since its shadow last began."""
    if version.version == DEFAULT:
        return None
    try:
        compared = await visit.services.scorecards.compare(visit.principal, version.version)
    except RateLimitedError as error:
        return refusal(str(error))
    if compared.since is None:
        return h.section("#comparison")[
            h.h2["Champion against challenger"],
            h.p["It never ran in shadow. There it scores every transfer too, and nothing follows from that."],
        ]
    return comparison_view(compared)


def _reports(reports: tuple[ScorecardReport, ...]) -> h.Element:
    return h.section[
        h.h2["Reports"],
        h.ul(".plain")[
            (
                h.li[
                    "Made ",
                    moment(each.made_at),
                    ", sent by ",
                    outsider(each.sent_by),
                    ", digest ",
                    h.code(".digest")[each.report_sha256],
                ]
                for each in reports
            )
        ]
        if reports
        else h.p["None. ", h.code["clearhold calibrate"], " writes one, which an activation needs."],
    ]


async def _typed(visit: Visit, card: Scorecard) -> str:
    """The text of the form that was sent, else the card's, written in a thread, since that takes some time."""
    return visit.form.get("card", "") or await to_thread.run_sync(body_text, msgspec.to_builtins(card))


def _forms(visit: Visit, version: ScorecardVersion, typed: str) -> h.Node:
    place, form = f"{PATH}/{version.version}", visit.form
    fields: Mapping[str, Any] = {"spellcheck": "false", "rows": "16"}
    return h.section("#next.asks")[
        None
        if version.active
        else [
            h.h2["Put it in force"],
            visit.form_of(
                f"{place}/activate",
                h.label["Why", h.textarea(name="note", rows="2", required=True)[form.get("note", "")]],
                h.button(".main", type="submit")["Request"],
                h.p(".small")["It scores once another person has approved it."],
            ),
        ],
        None if version.version == DEFAULT or version.active else _shadow_form(visit, place, version),
        h.h2["Propose a card"],
        visit.form_of(
            f"{place}/propose",
            h.label["The card, as YAML or JSON; it begins as this one", h.textarea(fields, name="card")[typed]],
            h.button(type="submit")["Propose"],
            h.p(".small")["It is a version that scores nothing yet. Fitted cards come from clearhold calibrate."],
        ),
    ]


def _shadow_form(visit: Visit, place: str, version: ScorecardVersion) -> h.Node:
    if version.in_shadow:
        return [
            h.h2["Shadow"],
            visit.form_of(f"{place}/end-shadow", h.button(type="submit")["End its shadow"]),
        ]
    return [
        h.h2["Shadow"],
        visit.form_of(
            f"{place}/shadow",
            h.p["Each scored transfer then also gets this card's score, for the comparison alone."],
            h.button(type="submit")["Run it in shadow"],
        ),
    ]
