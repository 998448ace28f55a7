"""Bank events as a page, ``docs/events.md``: how they are sent, which fields are read, and the results."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from clearhold.api.ingest.routes import EXAMPLES
from clearhold.features.bank.event_fields import (
    ACCOUNT_FIELDS,
    COUNTERPARTY_FIELDS,
    DISPUTE_FIELDS,
    ENTITY_FIELDS,
    TRANSFER_FIELDS,
    EventField,
)
from clearhold.features.bank.event_types import STATES, TRANSFER_ID_PREFIXES, event_type
from clearhold.features.bank.statuses import STATUS_OF_CARD_SUFFIX
from clearhold.features.core.log_entry import MEANING_OF_RESULT, TAKES_EFFECT
from docs.pages.signing_snippets import SNIPPETS
from docs.pages.wrapping import paragraph

_HEAD: Final = """# Bank events

The events that a program's bank sends to `POST /api/ingest/bank/{programId}`, and their results. Their form is that of
the webhooks of Column (column.com), a bank with an API. Made from `features/bank`; a test keeps the two equal.

## Sending

```json
{"id": "evnt_1", "type": "wire.outgoing_transfer.initiated", "created_at": "2026-03-05T17:10:03Z",
 "data": {"id": "wire_1", "amount": 985000, "bank_account_id": "bacc_1"}}
```

| field | | meaning |
|---|---|---|
| `id` | required | The id, 1-255 characters. Once an event with it has taken effect, later ones change nothing. |
| `type` | required | `<resource>.<state>` in lower-case letters, as `ach.outgoing_transfer.returned`. |
| `created_at` | required | RFC 3339 date-time with an offset: the time from which the event's facts are known. |
| `data` | | The object that the event is about, as it stood then: a snapshot, not a change. |

An envelope that cannot be used is answered 400 and not stored. Every other event is durable before it is answered
`{"received": true, "duplicate": false}`. A field of `data` that cannot be used is read as absent; the others still
count. `duplicate` is true when the same event was received before, or a different event took effect under the same id.

**Order.** Events may arrive in any order: the newest snapshot of an object counts, by `data.updated_at`, then by the
event's `created_at`, which also replaces an absent `data.updated_at`. Of two snapshots of one instant, the one with the
later state counts, whatever came first: `RETURNED` over `SETTLED`, `REJECTED` over `INITIATED`, `DENIED` over `PENDING`
([all ranks](decisions/0077-order-of-snapshots.md)). What the newest snapshot of an entity or a counterparty leaves out
comes from an older one, also when that one comes late. A payee's details that a transfer states are of the transfer's
`data.created_at`: those of a transfer that comes late do not replace newer ones.

**Money** is whole cents: 9,850.00 USD is `985000`. A JSON number of whole value, such as `985000.0`, is read exactly;
one with a fraction is not read. **Currency**: an absent code is USD. A code that cannot be read is not: the transfer is
stored in `XXX`, and counts with the US dollars that the bank states beside it, else with none and without a score.

**Times** are RFC 3339 with an offset. In `data`, a time without an offset, one before 1990 and one that is more than a
day later than the event's arrival are read as absent and named: programs in Go write the year 1 where there is no time.
An update may be five minutes ahead, an effective date a year. A leap second is read as the second after it.

**A name twice.** An object that names a field twice cannot be used, because readers disagree on which of the two
counts. In transfers this is looked for when `amount`, `status` or `currency_code` occurs twice in the event, in checks
also `deposited_amount` and `positive_pay_amount`; in other objects always.

**One id, one transfer.** An event of another rail or direction under the id of a known transfer cannot be used
(`data.id`). A card refund that comes under its purchase's id is a transfer: incoming, with the id
`<purchase>:refund:<its created_at>`, such as `ctxn_1:refund:2026-03-05T20:15:00.000Z`. The purchase stays unchanged. A
second refund has another `created_at`; a later snapshot of the same `created_at` corrects the refund. A refund that
comes before its purchase has the purchase's id until the purchase comes.

### The signature

`Bank-Signature` is the HMAC-SHA256 of the raw body in hex, with the program's ingest secret as the key. The whole
secret string is the key, `whsec_` included, as UTF-8; it is not base64. Sign the bytes that are sent; do not encode the
object a second time. A program that was created with a `webhookEndpointId` also needs the header `Webhook-Endpoint-Id`.
A bank that makes its secrets itself and signs in another header is set up by the platform admin
([operations](operations.md#a-banks-own-webhook-secret)).

While you write a sender, post its events to `POST /api/ingest/bank/{programId}/check` of a simulated program, with the
same headers and bytes. The answer names the faults of the signature (part of the secret or nothing as the key, other
bytes, a time before them, base64, a prefix, another header), of the envelope and of `data`, the names in `data` that
nothing reads, and the result that the event would have. Nothing is stored. A program of the bank has no such route: its
answer to a wrong signature is the same sentence for every cause.

"""
_BATCH: Final = """
### Many at a time

`POST /api/ingest/bank/{programId}/batch` takes up to 1,000 events, one a line (NDJSON), in at most 4 MiB; a line is an
event of at most 1 MiB, and a batch has at most 2,000 lines, blank ones included. One signature covers the raw body. The
events that can be used are durable together, and there is one line of answer for each, in order:
`{"line": 1, "received": true, "id": "evnt_1", "duplicate": false}`, or
`{"line": 2, "received": false, "error": "...", "path": "created_at"}`. A bad line does not stop the others. After a 503
send the whole batch again. `clearhold replay FILE` sends a file this way.

## Results of an event

`GET /api/events?programId=&result=` lists every delivery that is in the log, and `GET /api/events/{id}` shows one
event: its result, the reason in a sentence, the path of the field concerned, and the transfer or party that it changed.
`clearhold_events_total{result}` counts the results, and the log has the counts once a minute.
`clearhold replay --check FILE` reports the same for a file without sending it.

| result | id used up | meaning |
|---|---|---|
"""
_CORRECTING: Final = """
To correct an event that had no effect, send it again under its id with another body. After an event took effect, send
changes as a new event with a new id.

## Types

A type is `<resource>.<state>`. The bank may send types that are not listed; those of a known resource are read like
the listed types.

| type | states | is |
|---|---|---|
"""
_STATES: Final = """
Where `data.status` is absent, a state that names a status replaces it. `check.incoming_debit` is an issued check:
money leaves.
`check.outgoing_debit` is a deposited check. `check.incoming_debit.delivery.*` tracks a check in the mail. A type of a
rail's family that is not listed is read as a transfer when it is known who originated it, by its type or `is_incoming`,
and its object has an amount; unless the type reports on one, as `check.positive_pay.exception` does. Its id begins with
"""
_KEPT: Final = "stored, without an effect"
_PARTIES: Final = {"identity": "an entity", "account": "a bank account", "counterparty": "a counterparty"}


def markdown() -> str:
    """The page."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    for title, (language, snippet) in SNIPPETS.items():
        yield f"{title}:\n\n```{language}\n{snippet}```\n\n"
    yield _BATCH.lstrip("\n")
    for result, meaning in MEANING_OF_RESULT.items():
        yield f"| `{result}` | {'yes' if result in TAKES_EFFECT else 'no'} | {meaning} |\n"
    yield _CORRECTING
    for resource, states in STATES.items():
        yield f"| `{resource}.` | {', '.join(f'`{state}`' for state in states)} | {_is(resource)} |\n"
    prefixes = ", ".join(f"`{each}`" for each in TRANSFER_ID_PREFIXES)
    yield f"{_STATES.rstrip()}\n{prefixes}.\n"
    states_of_cards = ", ".join(f"`{suffix}` {status}" for suffix, status in STATUS_OF_CARD_SUFFIX.items())
    yield f"\n{paragraph(f'Without `data.status`, the state of a card transfer gives it: {states_of_cards}.')}\n"
    yield "\n## Fields\n\nEvery other field is stored and shown, but not read. `null` and an empty text are absent.\n"
    for title, fields in (
        ("A transfer", TRANSFER_FIELDS),
        ("An entity (`identity`)", ENTITY_FIELDS),
        ("A counterparty (`counterparty`)", COUNTERPARTY_FIELDS),
        ("A bank account (`account`)", ACCOUNT_FIELDS),
        ("A dispute (`card.dispute`)", DISPUTE_FIELDS),
    ):
        yield f"\n### {title}\n\n| field | must be | on | meaning |\n|---|---|---|---|\n"
        yield from _rows(fields, "")
    yield "\n## Examples\n"
    for name, example in EXAMPLES.items():
        yield f"\n`{name}`:\n\n```json\n{json.dumps(example, indent=1)}\n```\n"


def _is(resource: str) -> str:
    kind = event_type(f"{resource}.x")
    if kind.kind is not None and kind.is_transfer:
        return f"a transfer on the rail `{kind.kind.rail_word}`"
    if kind.is_dispute:
        return "a dispute of a card transfer"
    return _PARTIES.get(kind.family, _KEPT)


def _rows(fields: Iterable[EventField], path: str) -> Iterator[str]:
    for field in fields:
        rails = "all" if field.rails is None else ", ".join(sorted(field.rails))
        needed = "" if field.needed is None else f" Needed {field.needed}."
        yield f"| `{path}{field.name}` | {field.kind.words} | {rails} | {field.meaning}{needed} |\n"
        yield from _rows(field.inside, f"{path}{field.name}.")
