"""Keys without a form: signing keys of proofs and checkpoints, and the keys that the bank and the service share."""

from collections.abc import Mapping
from typing import Final

import htpy as h

from clearhold.api.bank_keys.routes import BankApiKey, SharedKeyState, WebhookSecretState
from clearhold.api.console.components.settings import BANK_KEYS, SIGNING_KEYS, settings_frame
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import count, moment, outsider
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.signing_keys.routes import PublicKey
from clearhold.features.core.principal import Program
from clearhold.store.keys import KeyPurpose, KeyState

SIGNING_PATH: Final = SIGNING_KEYS
BANK_PATH: Final = BANK_KEYS
JWKS: Final = "/.well-known/jwks.json"
_STATES: Final[Mapping[KeyState, str]] = {
    KeyState.ANNOUNCED: "○ published, signs later",
    KeyState.SIGNING: "● signs now",
    KeyState.RETIRED: "◆ verifies its earlier signatures",
    KeyState.EXPIRED: "◇ each of its signatures has ended",
    KeyState.REMOVED: "■ removed: its signatures no longer count",
}
_PURPOSES: Final[Mapping[KeyPurpose, str]] = {
    KeyPurpose.PROOF: "proof tokens of scores",
    KeyPurpose.CHECKPOINT: "checkpoints of the record",
}
_ADMIN: Final = "It takes the admin token, which no page of the console accepts:"


async def signing_keys(visit: Visit) -> Answer:
    keys = await visit.services.signing_key_states.public(visit.principal)
    content = settings_frame(
        visit,
        h.h1["Signing keys"],
        h.p[
            "Proofs and checkpoints are signed with Ed25519. The public keys are at ",
            h.a(href=JWKS)[JWKS],
            "; an examiner keeps a copy, and verifies the record with it offline.",
        ],
        h.section(".person")[h.h2[count(len(keys), "key")], _signing_table(keys)],
        h.section[
            h.h2["Rotation"],
            h.p[
                "A new key is published at once and signs 30 minutes later. The one before stays published: a proof "
                "key for 25 hours, a checkpoint key permanently."
            ],
            _by_admin("POST /api/admin/signing-keys", "DELETE /api/admin/signing-keys/{kid}, of a compromised key"),
        ],
    )
    return HtmlAnswer("Signing keys", content)


def _signing_table(keys: tuple[PublicKey, ...]) -> h.Element:
    heads = ("State", "Signs", "Signs from", "Created", "Key id", "Public key (x)")
    return wide_table(
        "Signing keys",
        heads,
        (
            h.tr[
                h.td(".words", data_label="State")[_STATES[each.state]],
                h.td(data_label="Signs")[_PURPOSES[each.purpose]],
                h.td(data_label="Signs from")[moment(each.signs_from)],
                h.td(data_label="Created")[moment(each.created_at)],
                h.td(".words", data_label="Key id")[h.span(".mono")[each.kid]],
                h.td(".words", data_label="Public key")[h.span(".mono")[each.x]],
            ]
            for each in keys
        ),
        style="endpoints",
    )


async def bank_keys(visit: Visit) -> Answer:
    states = await visit.services.bank_keys.read(visit.principal)
    programs = {each.id: each for each in visit.services.programs.list(visit.principal, source=None)}
    content = settings_frame(
        visit,
        h.h1["Bank keys"],
        h.p["The keys that the bank and this service share. Their values are on no page, and in no answer."],
        h.section[h.h2["Key to the bank's API"], _of_api(states.bank_api)],
        h.section(".person")[
            h.h2["Secrets of the bank's webhooks"],
            h.p["With its program's secret, the bank signs every event that it sends."],
            _secret_table(states.webhooks, programs) if states.webhooks else h.p["No programs yet."],
        ],
        h.section[
            h.h2["Rotation"],
            h.p["During the overlap, the replaced secret counts beside the new one, so no event is refused."],
            _by_admin(
                "PUT /api/admin/tenants/{tenantId}/bank-key",
                "POST /api/admin/programs/{programId}/ingest-secret, with overlapHours",
            ),
        ],
    )
    return HtmlAnswer("Bank keys", content)


def _of_api(key: BankApiKey) -> h.Node:
    if key.state is SharedKeyState.NEVER_SET:
        return h.p["○ Not set. Nothing is asked of the bank, and approved actions are not carried out there."]
    words = {
        SharedKeyState.SET: "● Set. Accounts and parties are read from the bank, and approved actions are sent to it.",
        SharedKeyState.REMOVED: "■ Removed. Nothing is asked of the bank until a key is set again.",
    }
    return h.p[words[key.state], " Since ", moment(key.since), ", by ", outsider(key.by), "."]


def _secret_table(secrets: tuple[WebhookSecretState, ...], programs: Mapping[str, Program]) -> h.Element:
    heads = ("Program", "Signature in", "Endpoint id", "Secrets")
    return wide_table(
        "Secrets",
        heads,
        (
            h.tr[
                h.td(data_label="Program")[
                    outsider(programs[each.program_id].name),
                    " ",
                    h.span(".simulated")["simulated"] if each.simulated is True else None,
                ],
                h.td(data_label="Signature in")[h.code[each.signature_header]],
                h.td(".words", data_label="Endpoint id")[outsider(each.webhook_endpoint_id, "not required")],
                h.td(".words", data_label="Secrets")[
                    "one"
                    if each.replaced_until is None
                    else ["two: the replaced one counts until ", moment(each.replaced_until)]
                ],
            ]
            for each in secrets
        ),
        style="endpoints",
    )


def _by_admin(*calls: str) -> h.Node:
    return [h.p(".small")[_ADMIN], h.ul(".plain")[(h.li[h.code[each]] for each in calls)]]
