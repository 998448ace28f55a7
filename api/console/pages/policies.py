"""Policies: versions by kind, one against the version in force, and the request of the next one."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import htpy as h
import msgspec

from clearhold.api.console.components.dry_runs import dry_run_view
from clearhold.api.console.components.nested import change_table, parts_of
from clearhold.api.console.components.policy_fields import texts_of, typed_body
from clearhold.api.console.components.policy_form import PolicyForm
from clearhold.api.console.components.settings import POLICIES, done, refusal, settings_frame
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import count, moment, outsider
from clearhold.api.console.visit import MAIN, Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.policies.dry_run import DryRunRequest
from clearhold.api.policies.routes import dry_run_failures, policy_failures
from clearhold.api.policies.service import Activation, NewPolicy, PoliciesQuery, Policy, PolicyPrefix
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.errors import ErrorCode, NotFoundError, RateLimitedError, RiskError

PATH: Final = POLICIES
KINDS: Final[Mapping[PolicyPrefix, str]] = {
    PolicyPrefix.POLICY: "Routing of alerts and duties of narratives",
    PolicyPrefix.CLOCK: "Clocks of alerts",
    PolicyPrefix.LADDER: "Caps of entities and counterparties by band",
    PolicyPrefix.THRESHOLDS: "Reporting thresholds and lists of countries",
    PolicyPrefix.KRI: "Lines of indicators",
    PolicyPrefix.FX: "Rates of currencies",
}
"""Kinds that are written here, in words; the others have pages."""
NOT_HERE: Final = "The next version of this kind is not written here."
_NEWEST: Final = 100
_POLICIES: Final = msgspec.json.Decoder(tuple[Policy, ...])
_NEW: Final = RequestSchema(NewPolicy, rules=policy_failures)
_DRY_RUN: Final = RequestSchema(DryRunRequest, rules=dry_run_failures)
MOST_DIGITS: Final = 4
NO_FAULTS: Final[Mapping[str, str]] = {}
_ACTIVATION: Final = RequestSchema(Activation)
_DONE: Final = {"requested": "Requested. It is in force once another person has approved it."}


async def show_all(visit: Visit) -> Answer:
    versions = [version for kind in KINDS for version in await _versions(visit, kind)]
    programs = {each.id: each.name for each in visit.services.programs.list(visit.principal, source=None)}
    content = settings_frame(
        visit,
        h.h1["Policies"],
        h.p["A version is never edited. The next one is in force from the approval of another person on."],
        [_of_kind(kind, [each for each in versions if _kind_of(each) is kind], programs) for kind in KINDS],
    )
    return HtmlAnswer("Policies", content)


def _of_kind(kind: PolicyPrefix, versions: list[Policy], programs: Mapping[str, str]) -> h.Element:
    heads = ("Version", "Of", "State", "Written")
    return h.section(".person", id=kind.value)[
        h.h2[f"{KINDS[kind]} ({count(len(versions), 'version')})"],
        wide_table(
            KINDS[kind],
            heads,
            (
                h.tr[
                    h.th(scope="row")[h.a(href=f"{PATH}/{each.id}")[each.version]],
                    h.td(data_label="Of")[outsider(programs.get(each.program_id or ""), "the whole bank")],
                    h.td(data_label="State")["● in force" if each.active else "○ not in force"],
                    h.td(data_label="Written")[moment(each.created_at)],
                ]
                for each in versions
            ),
            style="endpoints",
        )
        if versions
        else h.p["None."],
    ]


async def show(visit: Visit) -> Answer:
    return await _page(visit)


async def request(visit: Visit) -> Answer:
    """Write the next version of the kind, and request its activation; a step ``plan`` shows its effect alone."""
    policy = await visit.services.policies.read(visit.principal, visit.params["policy_id"])
    kind = _kind_of(policy)
    if kind not in KINDS:
        raise NotFoundError(NOT_HERE, ErrorCode.PATH_NOT_FOUND)
    version = _next_of(await _versions(visit, kind))
    typed = typed_body(kind, visit.form, version, policy.body)
    body = {"version": version, "body": typed.body}
    if policy.program_id is not None:
        body["programId"] = policy.program_id
    faults = {each.path: each.words for each in reversed([*policy_failures(body)])} | typed.faults
    if faults:
        return (await _page(visit, NextVersion(faults=_by_field(faults))))._replace(status=HTTPStatus.BAD_REQUEST)
    if visit.form.get("step") == "plan":
        return await _page(visit, NextVersion(planned=body))
    try:
        created = await requested_version(visit, body)
    except RiskError as error:
        page = await _page(visit, NextVersion(refused=str(error)))
        return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))
    return RedirectAnswer(f"{PATH}/{created.id}?done=requested")


async def show_dry_run(visit: Visit) -> Answer:
    """What a written version would have routed otherwise."""
    policy = await visit.services.policies.read(visit.principal, visit.params["policy_id"])
    query, _ = _DRY_RUN.decode(msgspec.json.encode({"version": policy.version, "days": _days(visit)}))
    title, is_page = f"{policy.version}: what it would have routed otherwise", visit.target in {None, MAIN}
    content = [
        visit.heading[title],
        await _dry_run(visit, query),
        h.p[h.a(href=f"{PATH}/{policy.id}")["Back to the version"]] if is_page else None,
    ]
    return HtmlAnswer(title, settings_frame(visit, content) if is_page else content)


def _days(visit: Visit) -> int | str:
    text = visit.query.get("days", "30")
    return int(text) if text.isascii() and text.isdigit() and len(text) < MOST_DIGITS else text


async def requested_version(visit: Visit, body: Mapping[str, Any]) -> Policy:
    """Write a version, and request its activation with the form's note."""
    policies, principal, effect_id = visit.services.policies, visit.principal, visit.effect_id()
    activation, _ = _ACTIVATION.decode(msgspec.json.encode({"note": visit.form.get("note", "").strip()}))
    new, _ = _NEW.decode(msgspec.json.encode(body))
    created = await policies.create(principal, new, effect_id)
    await policies.activate(principal, created.id, activation, effect_id and derived_id("policy", effect_id))
    return created


async def _versions(visit: Visit, kind: PolicyPrefix) -> tuple[Policy, ...]:
    """The newest ones of a kind, newest first."""
    query = PoliciesQuery(prefix=(kind,), limit=_NEWEST)
    return _POLICIES.decode((await visit.services.policies.list(visit.principal, query)).body)


def _kind_of(policy: Policy) -> PolicyPrefix:
    return PolicyPrefix(policy.version.rpartition("-v")[0])


def _next_of(versions: tuple[Policy, ...]) -> str:
    """The name of the next version of the kind that these are of, at least one."""
    kinds, numbers = zip(*(each.version.rpartition("-v")[::2] for each in versions), strict=True)
    return f"{kinds[0]}-v{1 + max(map(int, numbers))}"


def _by_field(faults: Mapping[str, str]) -> dict[str, str]:
    """Faults by the name of the field that shows them: of a list typed as one text, that text."""
    by_name: dict[str, str] = {}
    for path, sentence in faults.items():
        name, _, rest = path.partition("[")
        if rest and not name.endswith(".lines"):
            by_name.setdefault(name, f"entry {int(rest.partition(']')[0]) + 1} {sentence}")
        else:
            by_name.setdefault(path, sentence)
    return by_name


class NextVersion(NamedTuple):
    """The sent form: refused, with faults by field, or ``planned`` as a request of the interface."""

    refused: str | None = None
    faults: Mapping[str, str] = NO_FAULTS
    planned: Mapping[str, Any] | None = None


async def _page(visit: Visit, sent: NextVersion | None = None) -> HtmlAnswer:
    policy = await visit.services.policies.read(visit.principal, visit.params["policy_id"])
    kind = _kind_of(policy)
    versions = await _versions(visit, kind)
    in_force = next((each for each in versions if each.active and _same_place(each, policy)), None)
    content = settings_frame(
        visit,
        h.h1[policy.version],
        done(visit, _DONE) if sent is None else None,
        h.p["In force." if policy.active else "Not in force.", " Written ", moment(policy.created_at), "."],
        None
        if in_force is None or policy.active
        else h.section("#difference")[
            h.h2[f"Against {in_force.version}, which is in force"],
            change_table(in_force.body, policy.body, (in_force.version, policy.version)),
        ],
        _dry_run_later(visit, policy) if kind is PolicyPrefix.POLICY and sent is None else None,
        h.section[h.h2["Its parts"], parts_of("body", policy.body)] if sent is None else None,
        None if sent is None or sent.planned is None else await _plan(visit, sent.planned, in_force or policy),
        None if visit.signed_in.is_read_only or kind not in KINDS else _form(visit, policy, sent or NextVersion()),
    )
    return HtmlAnswer(policy.version, content)


def _dry_run_later(visit: Visit, policy: Policy) -> h.Element:
    """Read after the page, for the alerts of 30 days may be many; a link without JavaScript."""
    place = f"{PATH}/{policy.id}/dry-run?days=30"
    link = h.p[h.a(href=place)["What it would have routed otherwise in the last 30 days"]]
    if policy.active:
        return link
    return h.section("#dry-run", visit.hx(get=place, trigger="load", target="#dry-run", swap="innerHTML"))[link]


async def _dry_run(visit: Visit, query: DryRunRequest) -> h.Node:
    """The answer, or a refusal in its place."""
    programs = {each.id: each.name for each in visit.services.programs.list(visit.principal, source=None)}
    try:
        return dry_run_view(await visit.services.dry_runs.run(visit.principal, query), programs)
    except RateLimitedError as error:
        return refusal(str(error))


async def _plan(visit: Visit, planned: Mapping[str, Any], against: Policy) -> h.Element:
    """Against the version in force, or the former one of a program without one."""
    version, routed = planned["version"], None
    if version.startswith(f"{PolicyPrefix.POLICY.value}-"):
        query, _ = _DRY_RUN.decode(msgspec.json.encode(dict(planned)))
        routed = [h.h3["What it would have routed otherwise in the last 30 days"], await _dry_run(visit, query)]
    return h.section("#plan")[
        h.h2[f"What {version} would change"],
        change_table(against.body, planned["body"], (against.version, version)),
        routed,
        h.p(".small")["Nothing is written yet. The form below has the typed values."],
    ]


def _same_place(one: Policy, other: Policy) -> bool:
    return _kind_of(one) is _kind_of(other) and one.program_id == other.program_id


def _form(visit: Visit, policy: Policy, sent: NextVersion) -> h.Element:
    kind = _kind_of(policy)
    texts = visit.form or texts_of(kind, policy.body)
    form = PolicyForm(kind=kind, former=policy.body, texts=texts, faults=sent.faults)
    wrong = f"{count(len(sent.faults), 'field')} cannot be taken; each says why. {'. '.join(form.other_faults())}"
    return h.section("#next.asks.policy")[
        h.h2["Write the next version"],
        visit.form_of(
            f"{PATH}/{policy.id}",
            refusal(sent.refused or (wrong if sent.faults else None)),
            form.parts(),
            h.label["Why", h.textarea(name="note", rows="2")[visit.form.get("note", "")]],
            h.div(".steps")[
                h.button(type="submit", name="step", value="plan")["Show what it would change"],
                h.button(".main", type="submit", name="step", value="request")["Request"],
            ],
            h.p(".small")["The version is written, and another person approves that it comes into force."],
        ),
    ]
