"""Passkeys on pages: the form that ``passkeys.js`` drives, the list of passkeys, the form of an invitation."""

from collections.abc import Sequence
from typing import Final

import htpy as h

from clearhold.api.console.components.wide import unseen, wide_table
from clearhold.api.console.components.words import moment, outsider
from clearhold.api.console.visit import Visit
from clearhold.features.core.instants import format_instant
from clearhold.store.control.passkeys import Passkey
from clearhold.store.invitations import INVITATION_US, Invitation

CODE: Final = "code"
CREDENTIAL: Final = "credential"
NEED_SCRIPTS: Final = "Passkeys need scripts."


def ceremony(visit: Visit, *, kind: str, action: str, options: str, words: str, fields: h.Node = None) -> h.Node:
    """A form, hidden without scripts; ``kind`` is ``create`` or ``get``, ``options`` the path of its options."""
    party = visit.services.passkeys.party
    if party is None:
        return None
    return h.form(
        class_="passkey",
        method="post",
        action=action,
        hidden=True,
        data_passkey=kind,
        data_options=options,
        data_origin=party.origin,
    )[
        h.p(".passkey-name"),
        fields,
        h.input(type="hidden", name=CREDENTIAL, value=""),
        h.button(class_="main" if kind == "create" else None, type="submit")[words],
        h.p(".refusal", role="alert", hidden=True),
    ]


def without_scripts(further: str = "") -> h.Element:
    return h.noscript[h.p(".small")[f"{NEED_SCRIPTS} {further}".strip()]]


def invitation_form(visit: Visit, action: str, refusal: str | None, link: tuple[str, str] | None) -> h.Element:
    """``link`` is the invited name and the link, on the one page that has it."""
    return h.section("#invite.invite")[
        h.h2["Invite a person"],
        h.p(".refusal", role="alert")[refusal] if refusal is not None else None,
        _link(*link) if link is not None else None,
        visit.form_of(
            action,
            h.label(for_="invited")["Name for the record, such as an e-mail address"],
            h.input("#invited", name="name", required=True, maxlength="128", autocomplete="off"),
            h.button(type="submit")["Make a link"],
        ),
        h.p(".small")[
            "The link works once, within 24 hours. With it the person registers a passkey, and signs in by it."
        ],
    ]


def invitation_table(visit: Visit, invitations: Sequence[Invitation], action: str) -> h.Node:
    """Invitations that wait for their persons; each has a button that ends it."""
    if not invitations:
        return None
    return h.section("#invitations.person")[
        h.header[h.h2["Invitations that wait"]],
        wide_table(
            "Invitations that wait",
            ("For", "Made", "Invited by", "Works until", unseen("End")),
            (_invitation_row(visit, each, action) for each in invitations),
        ),
    ]


def _invitation_row(visit: Visit, invitation: Invitation, action: str) -> h.Element:
    form = visit.form_of(
        action,
        h.input(type="hidden", name="invitation", value=invitation.id),
        h.button(type="submit", aria_label=f"End the invitation for {invitation.name}")["End"],
    )
    return h.tr[
        h.td(data_label="For")[outsider(invitation.name)],
        h.td(data_label="Made")[moment(format_instant(invitation.expires_at - INVITATION_US))],
        h.td(data_label="By")[outsider(invitation.invited_by), None if invitation.by_person else " (typed)"],
        h.td(data_label="Until")[moment(format_instant(invitation.expires_at))],
        h.td[form],
    ]


def passkey_table(visit: Visit, passkeys: tuple[Passkey, ...], action: str) -> h.Node:
    """The newest first; one of a session that writes has a button that revokes."""
    if not passkeys:
        return None
    return h.section(".person")[
        h.header[h.h2["Passkeys"]],
        wide_table(
            "Passkeys",
            ("Person", "Registered", "Invited by", "State", unseen("Revoke")),
            (_row(visit, each, action) for each in passkeys),
        ),
    ]


def _row(visit: Visit, passkey: Passkey, action: str) -> h.Element:
    entry, is_valid = passkey.entry, passkey.revoked_at is None
    form = visit.form_of(
        action,
        h.input(type="hidden", name="passkey", value=entry.id),
        h.button(type="submit", aria_label=f"Revoke the passkey of {entry.name} from {entry.created_at}")["Revoke"],
    )
    return h.tr[
        h.td(data_label="Person")[outsider(entry.name)],
        h.td(data_label="Registered")[moment(entry.created_at)],
        h.td(data_label="Invited by")[outsider(entry.invited_by)],
        h.td(data_label="State")["in use" if is_valid else ["revoked ", moment(passkey.revoked_at)]],
        h.td[form if is_valid and not visit.signed_in.is_read_only else None],
    ]


def _link(name: str, link: str) -> h.Element:
    return h.div(".made", role="status")[
        h.label(for_="link")["The link for ", outsider(name), ", on this page alone: copy it now"],
        h.input("#link", value=link, readonly=True, autocomplete="off", spellcheck="false"),
    ]
