"""The frame of the settings: the sections that the session may read, beside the content."""

from collections.abc import Callable
from typing import Final, NamedTuple

import htpy as h

from clearhold.api.console.visit import Visit
from clearhold.features.core.principal import KeyScope, Principal

SETTINGS: Final = "/console/settings"
PEOPLE: Final = "/console/people"
KEYS: Final = f"{SETTINGS}/keys"
WEBHOOKS: Final = f"{SETTINGS}/webhooks"
SIGNING_KEYS: Final = f"{SETTINGS}/signing-keys"
BANK_KEYS: Final = f"{SETTINGS}/bank-keys"
RETENTION: Final = f"{SETTINGS}/retention"
POLICIES: Final = f"{SETTINGS}/policies"
SCORECARDS: Final = f"{SETTINGS}/scorecards"
CONFIGURATION: Final = f"{SETTINGS}/configuration"
EVENTS: Final = f"{SETTINGS}/events"


class SettingsSection(NamedTuple):
    """``words`` say its purpose; ``is_open`` is whether a caller may read it."""

    name: str
    path: str
    words: str
    is_open: Callable[[Principal], bool]


def is_operator(principal: Principal) -> bool:
    return principal.mode is None


def _has(scope: KeyScope) -> Callable[[Principal], bool]:
    return lambda principal: principal.has_scope(scope)


def _anyone(_: Principal) -> bool:
    return True


SECTIONS: Final = (
    SettingsSection("People and sessions", PEOPLE, "Who is signed in, passkeys and invitations.", _anyone),
    SettingsSection("API keys", KEYS, "Keys of programs and people who call the interface.", is_operator),
    SettingsSection(
        "Webhooks",
        WEBHOOKS,
        "Endpoints to which events are sent, and the deliveries to them.",
        _has(KeyScope.WEBHOOKS),
    ),
    SettingsSection(
        "Signing keys",
        SIGNING_KEYS,
        "Public keys of proofs and checkpoints, and their rotation.",
        _has(KeyScope.RECORD),
    ),
    SettingsSection(
        "Bank keys", BANK_KEYS, "The key to the bank's API, and the secrets of the bank's webhooks.", is_operator
    ),
    SettingsSection(
        "Policies",
        POLICIES,
        "Routing, clocks, caps, thresholds, lines of indicators and rates: versions, and the request of the next.",
        _has(KeyScope.POLICIES),
    ),
    SettingsSection(
        "Scorecards",
        SCORECARDS,
        "The card that scores, versions, a card in shadow beside it, and the request of an activation.",
        _has(KeyScope.POLICIES),
    ),
    SettingsSection(
        "Configuration",
        CONFIGURATION,
        "All settings as files: export, the plan of a change, and its request.",
        is_operator,
    ),
    SettingsSection("Retention", RETENTION, "How long everything is kept, and changes of it.", _has(KeyScope.POLICIES)),
    SettingsSection(
        "Events without effect",
        EVENTS,
        "Events of the bank with a fault, and how to correct it.",
        _has(KeyScope.ALERTS_READ),
    ),
)


def sections_of(principal: Principal) -> list[SettingsSection]:
    return [each for each in SECTIONS if each.is_open(principal)]


def settings_frame(visit: Visit, *content: h.Node) -> h.Element:
    """The sections beside the content; the present one is the one whose path the request's begins with."""
    return h.div(".settings")[
        h.nav(".sections", aria_label="Settings")[
            h.ul[
                (
                    h.li[h.a(href=each.path, aria_current="page" if _is_present(visit, each) else None)[each.name]]
                    for each in sections_of(visit.principal)
                )
            ]
        ],
        h.div(".section")[content],
    ]


def _is_present(visit: Visit, section: SettingsSection) -> bool:
    return visit.path == section.path or visit.path.startswith(f"{section.path}/")


def done(visit: Visit, sentences: dict[str, str]) -> h.Node:
    """What the last form did, by the parameter ``done`` of the address that it led to."""
    sentence = sentences.get(visit.query.get("done", ""))
    return None if sentence is None else h.p("#notice.note", role="status")[sentence]


def refusal(sentence: str | None) -> h.Node:
    return None if sentence is None else h.p(".refusal", role="alert")[sentence]


def tick(kind: str, name: str, value: str, *words: h.Node, checked: bool) -> h.Element:
    """One choice of a group: a radio button or a box, with its words beside it."""
    return h.label[h.input(type=kind, name=name, value=value, checked=checked), h.span[words]]


def secret_once(label: h.Node, secret: str | None, *, lost: str) -> h.Element:
    """A secret on the one page that has it; ``lost`` says what to do after a repeat, which has none.

    ``secrets.js`` copies it, and takes it off the page when the page is left.
    """
    if secret is None:
        return h.p("#notice.refusal", role="alert")[lost]
    return h.div("#notice.made", role="status")[
        h.label(for_="secret")[label],
        h.div(".copied")[
            h.input("#secret", value=secret, readonly=True, autocomplete="off", spellcheck="false", data_secret=True),
            h.button(type="button", data_copies="secret")["Copy"],
        ],
        h.p(".small")["It is on this page alone, and never again. Copy it now to the place where it is used."],
    ]


def confirmed(visit: Visit, action: str, name: str, sentence: str, *fields: h.Node, button: str) -> h.Element:
    """A form behind one more step: its consequence is read before its button can be pressed."""
    return h.details(".confirm")[
        h.summary[name],
        visit.form_of(action, fields, h.p[sentence], h.button(type="submit")[button]),
    ]
