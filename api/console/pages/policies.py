"""Policies: versions by kind, one against the version in force, and the request of the next one."""

from collections.abc import Mapping
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.config.yaml_text import body_text
from clearhold.api.console.components.nested import change_table, parts_of
from clearhold.api.console.components.settings import POLICIES, done, refusal, settings_frame
from clearhold.api.console.components.words import count, moment, outsider
from clearhold.api.console.typed_yaml import typed_yaml
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.policies.routes import policy_failures
from clearhold.api.policies.service import Activation, NewPolicy, PoliciesQuery, Policy, PolicyPrefix
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.errors import RiskError

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
_LISTED: Final = PoliciesQuery(prefix=tuple(KINDS), limit=100)
_POLICIES: Final = msgspec.json.Decoder(tuple[Policy, ...])
_NEW: Final = RequestSchema(NewPolicy, rules=policy_failures)
_ACTIVATION: Final = RequestSchema(Activation)
_DONE: Final = {"requested": "Requested. It is in force once another person has approved it."}


async def show_all(visit: Visit) -> Answer:
    versions = await _versions(visit)
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
        h.div(".wide", tabindex="0", role="region", aria_label=KINDS[kind])[
            h.table(".endpoints")[
                h.thead[h.tr[(h.th(scope="col")[each] for each in heads)]],
                h.tbody[
                    (
                        h.tr[
                            h.th(scope="row")[h.a(href=f"{PATH}/{each.id}")[each.version]],
                            h.td(data_label="Of")[outsider(programs.get(each.program_id or ""), "the whole bank")],
                            h.td(data_label="State")["● in force" if each.active else "○ not in force"],
                            h.td(data_label="Written")[moment(each.created_at)],
                        ]
                        for each in versions
                    )
                ],
            ]
        ]
        if versions
        else h.p["None."],
    ]


async def show(visit: Visit) -> Answer:
    return await _page(visit)


async def request(visit: Visit) -> Answer:
    """Write the next version of the kind, and request its activation."""
    policy = await visit.services.policies.read(visit.principal, visit.params["policy_id"])
    try:
        body = {
            "version": _next_of(policy, await _versions(visit)),
            "body": await typed_yaml(visit.form.get("body", ""), "body"),
        }
        if policy.program_id is not None:
            body["programId"] = policy.program_id
        created = await requested_version(visit, body)
    except RiskError as error:
        page = await _page(visit, str(error))
        return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))
    return RedirectAnswer(f"{PATH}/{created.id}?done=requested")


async def requested_version(visit: Visit, body: Mapping[str, Any]) -> Policy:
    """Write a version, and request its activation with the form's note."""
    policies, principal, effect_id = visit.services.policies, visit.principal, visit.effect_id()
    activation, _ = _ACTIVATION.decode(msgspec.json.encode({"note": visit.form.get("note", "").strip()}))
    new, _ = _NEW.decode(msgspec.json.encode(body))
    created = await policies.create(principal, new, effect_id)
    await policies.activate(principal, created.id, activation, effect_id and derived_id("policy", effect_id))
    return created


async def _versions(visit: Visit) -> tuple[Policy, ...]:
    """Newest first."""
    return _POLICIES.decode((await visit.services.policies.list(visit.principal, _LISTED)).body)


def _kind_of(policy: Policy) -> PolicyPrefix:
    return PolicyPrefix(policy.version.rpartition("-v")[0])


def _next_of(policy: Policy, versions: tuple[Policy, ...]) -> str:
    kind = _kind_of(policy)
    numbers = [int(each.version.rpartition("-v")[2]) for each in versions if _kind_of(each) is kind]
    return f"{kind.value}-v{1 + max(numbers)}"


async def _page(visit: Visit, refused: str | None = None) -> HtmlAnswer:
    policy = await visit.services.policies.read(visit.principal, visit.params["policy_id"])
    versions = await _versions(visit)
    in_force = next((each for each in versions if each.active and _same_place(each, policy)), None)
    typed = visit.form.get("body") or body_text(policy.body)
    content = settings_frame(
        visit,
        h.h1[policy.version],
        done(visit, _DONE) if refused is None else None,
        h.p["In force." if policy.active else "Not in force.", " Written ", moment(policy.created_at), "."],
        None
        if in_force is None or policy.active
        else h.section("#difference")[
            h.h2[f"Against {in_force.version}, which is in force"],
            change_table(in_force.body, policy.body, (in_force.version, policy.version)),
        ],
        h.section[h.h2["Its parts"], parts_of("body", policy.body)],
        None if visit.signed_in.is_read_only or _kind_of(policy) not in KINDS else _form(visit, policy, typed, refused),
    )
    return HtmlAnswer(policy.version, content)


def _same_place(one: Policy, other: Policy) -> bool:
    return _kind_of(one) is _kind_of(other) and one.program_id == other.program_id


def _form(visit: Visit, policy: Policy, typed: str, refused: str | None) -> h.Element:
    return h.section("#next.asks")[
        h.h2["Write the next version"],
        visit.form_of(
            f"{PATH}/{policy.id}",
            refusal(refused),
            h.label[
                "Its parts, as YAML or JSON",
                h.textarea(name="body", rows=str(min(24, typed.count("\n") + 3)), spellcheck="false", required=True)[
                    typed
                ],
            ],
            h.label["Why", h.textarea(name="note", rows="2", required=True)[visit.form.get("note", "")]],
            h.button(".main", type="submit")["Request"],
            h.p(".small")["The version is written, and another person approves that it comes into force."],
        ),
    ]
