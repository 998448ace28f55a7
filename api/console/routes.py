"""The routes of the console, one line each, and how an answer of a page becomes a response."""

from http import HTTPStatus
from typing import Final

import htpy as h
import msgspec
from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from clearhold.api.console.components.requests import APPROVALS
from clearhold.api.console.frame import FILES, MEDIA_TYPES, STATIC_PATH, address_of, framed, headers_of
from clearhold.api.console.guard import BACK_CHANNEL, ENTRANCE, OPERATOR, PUBLIC, SCOPES
from clearhold.api.console.live import follow_live
from clearhold.api.console.openid import CALLBACK
from clearhold.api.console.pages import (
    api_keys,
    approvals,
    autonomy,
    bank_events,
    configuration,
    graph,
    key_states,
    keys,
    looking,
    openid,
    passkeys,
    people,
    policies,
    preflight_desk,
    programs,
    proof,
    quality,
    queue,
    record,
    retention,
    rules,
    scorecards,
    search,
    session,
    settings,
    sign_in,
    stack_events,
    start,
    thing,
    today,
    transfers,
    webhook,
    webhooks,
    week,
    workspace,
    workspace_writes,
)
from clearhold.api.console.slices import written
from clearhold.api.console.visit import (
    Answer,
    DocumentAnswer,
    ExportAnswer,
    FileAnswer,
    Handle,
    JsonAnswer,
    RedirectAnswer,
    Visit,
    visit_of,
)
from clearhold.api.console.way_back import HOME, INVITATION, SIGN_IN
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.head import IMMUTABLE, published
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.principal import KeyScope

_REDIRECT: Final = "HX-Redirect"


def _page(
    path: str, handle: Handle, *scopes: KeyScope, public: bool = False, operator: bool = False
) -> HTTPRouteHandler:
    """``scopes``: what the session of an API key needs for it; ``operator``: no such session reads it."""

    @get(path, opt={PUBLIC: public, SCOPES: scopes, OPERATOR: operator})
    async def handler(request: ApiRequest) -> Response[bytes]:
        visit = visit_of(request.scope)
        return await _response(visit, await handle(visit))

    return handler


def _download(path: str, handle: Handle, *scopes: KeyScope) -> HTTPRouteHandler:
    """An ``ExportAnswer``, or the page of a refusal."""

    @get(path, opt={PUBLIC: False, SCOPES: scopes, OPERATOR: False})
    async def handler(request: ApiRequest) -> ASGIApp:
        visit = visit_of(request.scope)
        answer = await handle(visit)
        if not isinstance(answer, ExportAnswer):
            return (await _response(visit, answer)).to_asgi_response(None, request)
        return visit.services.downloads.of(
            visit.principal, answer.batches, name=answer.name, kind=answer.kind, format_=answer.format
        )

    return handler


def _write(
    path: str, handle: Handle, *, public: bool = False, entrance: bool = False, back_channel: bool = False
) -> HTTPRouteHandler:
    opt = {PUBLIC: public or entrance, ENTRANCE: entrance, BACK_CHANNEL: back_channel}

    @post(path, opt=opt, status_code=HTTPStatus.OK)
    async def handler(request: ApiRequest) -> Response[bytes]:
        visit = visit_of(request.scope)
        return await _response(visit, await handle(visit))

    return handler


async def _response(visit: Visit, answer: Answer) -> Response[bytes]:
    assert not isinstance(answer, ExportAnswer), "only a route of downloads has one"
    if isinstance(answer, FileAnswer):
        headers = headers_of(visit.nonce) | {"Content-Disposition": f'attachment; filename="{answer.name}"'}
        return Response(answer.body, media_type=answer.media_type, headers=headers)
    if isinstance(answer, DocumentAnswer):
        headers = headers_of(visit.nonce) | {"Content-Security-Policy": answer.policy}
        return Response(answer.body, media_type="text/html", headers=headers)
    if isinstance(answer, JsonAnswer):
        content, headers = msgspec.json.encode(answer.body), headers_of(visit.nonce)
        return Response(content, status_code=answer.status, media_type="application/json", headers=headers)
    headers, cookies = headers_of(visit.nonce) | dict(answer.headers), answer.cookies
    is_part = visit.target is not None
    if isinstance(answer, RedirectAnswer):
        place = {_REDIRECT: answer.to} if is_part else {"Location": answer.to}
        status = HTTPStatus.OK if is_part else HTTPStatus.SEE_OTHER
        return Response(b"", status_code=status, headers=headers | place, cookies=cookies)
    page = answer.visit or visit
    body = await written(h.fragment[answer.content] if is_part else framed(page, answer.title, answer.content))
    return Response(body, status_code=answer.status, media_type="text/html", headers=headers, cookies=cookies)


@get(f"{STATIC_PATH}/{{digest:str}}/{{name:str}}", opt={PUBLIC: True})
async def get_file(request: ApiRequest) -> Response[bytes | None]:
    digest, name = request.path_params["digest"], request.path_params["name"]
    if name not in FILES or address_of(name) != f"{STATIC_PATH}/{digest}/{name}":
        raise NotFoundError("There is no such file.", ErrorCode.PATH_NOT_FOUND)
    suffix = f".{name.rpartition('.')[2]}"
    return published(request, FILES[name], media_type=MEDIA_TYPES[suffix], cache=IMMUTABLE)


async def to_home(visit: Visit) -> Answer:  # noqa: ARG001 - as every handler
    return RedirectAnswer(HOME)


CONSOLE_ROUTES: Final = (
    get_file,
    _page("/console", to_home),
    _page(SIGN_IN, sign_in.show, public=True),
    _write(SIGN_IN, sign_in.sign_in, entrance=True),
    _write(sign_in.OPENID, openid.start, entrance=True),
    _page(CALLBACK, openid.callback, public=True),
    _page(openid.FINISH, openid.finish, public=True),
    _write(openid.ENDED, openid.ended_at_provider, entrance=True, back_channel=True),
    _write(start.PATH, start.create, entrance=True),
    _page(start.PATH, start.use, public=True),
    _write("/console/sign-out", sign_in.sign_out, public=True),
    _page(session.PATH, session.show),
    _page(people.PATH, people.show),
    _write(people.END, people.end),
    _write(people.INVITE, passkeys.invite),
    _write(people.REVOKE, passkeys.revoke),
    _write(people.UNINVITE, passkeys.uninvite),
    _page(INVITATION, passkeys.show_invitation, public=True),
    _write(INVITATION, passkeys.accept_invitation, entrance=True),
    _write(passkeys.CREATION_OPTIONS, passkeys.creation_options, entrance=True),
    _write(sign_in.PASSKEY, passkeys.use, entrance=True),
    _write(passkeys.REQUEST_OPTIONS, passkeys.request_options, entrance=True),
    _page(today.PATH, today.show),
    _page("/console/things/{kind:str}/{id:str}", thing.show, KeyScope.ALERTS_READ),
    _write(proof.PATH, proof.issue),
    _page(transfers.PATH, transfers.show, KeyScope.ALERTS_READ),
    _download(transfers.FILE, transfers.file, KeyScope.ALERTS_READ),
    _page("/console/alerts/{alert_id:str}", thing.alert, KeyScope.ALERTS_READ),
    _page(search.PATH, search.show, KeyScope.ALERTS_READ),
    _page(APPROVALS, approvals.show, KeyScope.ACTIONS),
    _write(f"{APPROVALS}/{{action_id:str}}", approvals.answer),
    _page(programs.PATH, programs.show_all, KeyScope.REPORTS),
    _page(f"{programs.PATH}/{{program_id:str}}", programs.show, KeyScope.REPORTS),
    _page(week.PATH, week.show, KeyScope.REPORTS),
    _page(week.PRINT, week.printed, KeyScope.REPORTS),
    _write(f"{programs.PATH}/{{program_id:str}}/limits", programs.request_limit),
    _page(autonomy.PATH, autonomy.show, KeyScope.POLICIES),
    _write(autonomy.PATH, autonomy.change),
    _page("/console/queue", queue.show, KeyScope.ALERTS_READ),
    _page("/console/stacks/{stack_id:str}", workspace.show, KeyScope.ALERTS_READ),
    _page("/console/stacks/{stack_id:str}/events", stack_events.show, KeyScope.ALERTS_READ),
    _page("/console/stacks/{stack_id:str}/row", queue.show_row, KeyScope.ALERTS_READ),
    *(
        _write(f"/console/stacks/{{stack_id:str}}/{write.__name__}", write)
        for write in (
            workspace_writes.decide,
            workspace_writes.compare,
            workspace_writes.split,
            workspace_writes.act,
            workspace_writes.label,
            workspace_writes.appeal,
            workspace_writes.note,
            workspace_writes.assign,
        )
    ),
    _page(graph.PATH, graph.show, KeyScope.ALERTS_READ),
    _page("/console/signed", workspace.signed, KeyScope.ALERTS_READ),
    _page("/console/verify", workspace.verify, KeyScope.RECORD),
    _page(configuration.PATH, configuration.show, operator=True),
    _page(configuration.ARCHIVE, configuration.archive, operator=True),
    _write(configuration.PATH, configuration.apply),
    _write(configuration.PLAN, configuration.plan),
    _page(policies.PATH, policies.show_all, KeyScope.POLICIES),
    _page(f"{policies.PATH}/{{policy_id:str}}", policies.show, KeyScope.POLICIES),
    _write(f"{policies.PATH}/{{policy_id:str}}", policies.request),
    _page(f"{policies.PATH}/{{policy_id:str}}/dry-run", policies.show_dry_run, KeyScope.POLICIES),
    _page(scorecards.PATH, scorecards.show_all, KeyScope.POLICIES),
    _page(f"{scorecards.PATH}/{{version:str}}", scorecards.show, KeyScope.POLICIES),
    _write(scorecards.PROPOSE, scorecards.propose),
    _write(scorecards.SHADOW, scorecards.start_shadow),
    _write(scorecards.END_SHADOW, scorecards.end_shadow),
    _write(scorecards.ACTIVATE, scorecards.activate),
    _page(preflight_desk.PATH, preflight_desk.show, KeyScope.PREFLIGHT),
    _write(preflight_desk.PATH, preflight_desk.submit),
    _page(f"{preflight_desk.PATH}/{{preflight_id:str}}", preflight_desk.show_answer, KeyScope.PREFLIGHT),
    _page(rules.PATH, rules.show_all, KeyScope.RULES),
    _page(rules.NEW, rules.show_new, KeyScope.RULES),
    _write(rules.NEW, rules.create),
    _page(rules.ONE_ROW, rules.show_row, KeyScope.RULES),
    _page(f"{rules.PATH}/{{rule_id:str}}", rules.show, KeyScope.RULES),
    _write(f"{rules.PATH}/{{rule_id:str}}", rules.replace),
    _write(f"{rules.PATH}/{{rule_id:str}}/backtest", rules.backtest),
    _write(f"{rules.PATH}/{{rule_id:str}}/activate", rules.activate),
    _write(f"{rules.PATH}/{{rule_id:str}}/pause", rules.pause),
    _page(quality.PATH, quality.show, KeyScope.REPORTS),
    _page(quality.FILE, quality.file, KeyScope.REPORTS),
    _page(record.PATH, record.show, KeyScope.RECORD),
    _page(record.VERIFYING, record.verifying, KeyScope.RECORD),
    _page(record.VERIFIED, record.verified, KeyScope.RECORD),
    _page(record.PROGRESS, record.progress, KeyScope.RECORD),
    _page(record.CHECKPOINT, record.checkpoint, KeyScope.RECORD),
    _write(record.CHECKPOINT, record.sign),
    _page(record.PROOF, record.proof, KeyScope.RECORD),
    _page(record.PROOF_FILE, record.proof_file, KeyScope.RECORD),
    _download(record.EXPORT, record.export, KeyScope.RECORD),
    _download(record.SUBJECT, record.subject, KeyScope.RECORD),
    _page(record.SCRIPT, record.script, KeyScope.RECORD),
    _write("/console/stacks/{stack_id:str}/presence", looking.look),
    _page(settings.PATH, settings.show),
    _page(api_keys.PATH, api_keys.show, operator=True),
    _write(api_keys.PATH, api_keys.create),
    _write(api_keys.REVOKE, api_keys.revoke),
    _page(webhooks.PATH, webhooks.show, KeyScope.WEBHOOKS),
    _write(webhooks.PATH, webhooks.create),
    _page(f"{webhooks.PATH}/{{webhook_id:str}}", webhook.show, KeyScope.WEBHOOKS),
    *(
        _write(f"{webhooks.PATH}/{{webhook_id:str}}/{write.__name__}", write)
        for write in (
            webhook.change,
            webhook.enable,
            webhook.disable,
            webhook.test,
            webhook.redeliver,
            webhook.rotate,
        )
    ),
    _page(key_states.SIGNING_PATH, key_states.signing_keys, KeyScope.RECORD),
    _page(key_states.BANK_PATH, key_states.bank_keys, operator=True),
    _page(retention.PATH, retention.show, KeyScope.POLICIES),
    _write(retention.PATH, retention.request),
    _page(bank_events.PATH, bank_events.show_all, KeyScope.ALERTS_READ),
    _page(f"{bank_events.PATH}/{{event_id:str}}", bank_events.show, KeyScope.ALERTS_READ),
    _page("/console/keys", keys.show_keys),
    _page("/console/commands", keys.show_commands),
    follow_live,
)
