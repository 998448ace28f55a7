"""The sandbox as a page, ``docs/sandbox.md``: what it does, every scenario, and a walk through it with curl."""

from collections.abc import Iterable, Iterator
from typing import Final

from clearhold.features.sandbox.order import MAGIC_NAMES
from clearhold.features.sandbox.scenario import MOST_REPETITIONS
from clearhold.features.sandbox.scenarios import SCENARIOS
from clearhold.features.sandbox.sent_event import STATUS_OF_NAME

_HEAD: Final = """# Sandbox

Try everything without moving money: the sandbox sends a simulated program what the bank would send, through the same
ingest and the same log as the bank's own events. Transfers, scores, alerts, webhooks and reports follow as they always
do, marked `simulated`. Made from `features/sandbox`; a test keeps the two equal.

It takes a test key with the scope `sandbox`, and a program that was created with `"source": "simulated"`. Operator
tokens and live keys get 403 (`test_key_required`), and so does a test key on a program of the bank
(`program_out_of_reach`).

| Call | Does |
|---|---|
| `GET /api/sandbox/scenarios` | lists the scenarios, each with the alerts that it must open |
| `POST /api/sandbox/{programId}/scenario` | runs one: `scenario`, `seed`, `count` |
| `POST /api/sandbox/{programId}/transfer` | has one transfer go through from beginning to end |
| `POST /api/sandbox/{programId}/event` | sends one event with your `data` |
| `POST /api/sandbox/{programId}/return` | has the bank return a transfer: `transferId`, `returnCode` |

## A walk through it

It continues the [README](../README.md): `DIR`, `URL`, `TENANT`, `TOKEN`, `call` and `field` are set there.

"""
_WALK: Final = """```
ANSWER=$(TOKEN=$(cat "$DIR/admin.token") call /api/admin/programs \\
  -d '{"tenantId":"'$TENANT'","slug":"sandbox","name":"Sandbox","source":"simulated"}')
SANDBOX=$(echo "$ANSWER" | field id)
KEY=$(call /api/keys -d '{"name":"ci","mode":"test","programId":"'$SANDBOX'","scopes":["sandbox","alerts:read"]}' \\
  | field secret)
sandbox() { route=$1; shift; curl -sS "$URL/api/sandbox/$route" -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' "$@"; }

sandbox scenarios | python3 -m json.tool
sandbox $SANDBOX/scenario -d '{"scenario":"ach_debits_returned_r10","seed":7}' | python3 -m json.tool
```

The answer names the events, the last transfer, and the alert that the second return opened. Now a customer of your own,
whom the bank puts into review because of the name, a debit that comes back by itself, and one that you send back:

```
sandbox $SANDBOX/event -d '{"type":"identity.created","data":{"id":"enti_dana","type":"PERSON",
  "person_details":{"first_name":"Dana","last_name":"Review"}}}' | python3 -m json.tool
sandbox $SANDBOX/transfer -d '{"rail":"ach","direction":"outgoing","type":"DEBIT","amountCents":"12500",
  "entityId":"enti_dana","counterparty":{"name":"RETURN_UNAUTH"}}' | python3 -m json.tool
ANSWER=$(sandbox $SANDBOX/transfer -H 'Idempotency-Key: first-debit' -d '{"rail":"ach","direction":"outgoing",
  "type":"DEBIT","amountCents":"12500","entityId":"enti_dana","counterparty":{"name":"Sam Cole"}}')
sandbox $SANDBOX/return -d '{"transferId":"'$(echo "$ANSWER" | field transferId)'","returnCode":"R10"}' \\
  | python3 -m json.tool
curl -sS "$URL/api/alerts?programId=$SANDBOX" -H "Authorization: Bearer $KEY" | python3 -m json.tool
```

## Answers

```json
{"events": ["evnt_sbx…0001"], "transferId": "acht_sbx…0018", "alertIds": [], "score": {"score": 5, "band": "clear",
 "version": "trs-v1", "n": 8, "confidence": 0.28, "signals": [{"code": "first_time_counterparty", "weight": 5}]},
 "committed": true, "simulated": true}
```

- `events` are the ids of what was stored. `GET /api/events/{id}` says what became of each.
- The answer waits until all of it is committed, so `alertIds` and `score` are complete. That takes milliseconds. After
  5 seconds the answer comes anyway, with `committed: false` and what there is by then. The events are durable all the
  same: look at `GET /api/alerts?programId=` a little later. A repeat under the key brings this same answer again.
- `alertIds` are the alerts that these events opened or changed. Those that a snapshot of key risk indicators opens on
  the program are not among them, because its turn may come at any time.
- A repeat under the same `Idempotency-Key` gets the stored answer, also when the first one was lost on its way. Nothing
  happens twice. Without a key it is another run.
- A tenant may have 8 requests under way, everybody together 16; one more is a 429 (`too_many_at_once`).

"""
_SCENARIOS: Final = """## Scenarios

"""
_AFTER: Final = f"""
Each run brings people, accounts and counterparties of its own: a customer with two months of small payments behind
them, to whom the scenario then happens. It ends now; what lies before is dated back, as history that is loaded late. So
a run opens exactly these alerts in an empty program and in one full of history, however often and in whatever order
scenarios are run.

- `seed` (0 when left out) fixes names and amounts. Ids are new with every run: running a scenario again, with the same
  seed too, has it happen again. The same program, seed, time and run give the same bytes.
- `count` (1 to {MOST_REPETITIONS}) has it happen that many times, each time to other people.
- A program that declares its rails must declare those of the scenario, else `rail_outside_declared` opens as well.
  `intl_wire_undeclared_country` needs a program that declares countries.
- The amounts that must be unusual are so unless a program's ordinary payments are that large. Caps that you set, and
  policies that you change, open and close alerts of their own.
- Rules of the bank that are in force open their own alerts `rule:<id>` beside these, or in place of `band_review`.
- The bank sends nothing when an account is opened, and its transfers name no entity. `account.unfrozen` is the event by
  which the sandbox states who owns an account. Your bank's API is not asked about ids of the sandbox (`…_sbx…`).

## Transfers, and names that mean something

`POST …/transfer` takes `rail`, `direction`, `type` (CREDIT or DEBIT, on ach), `amountCents` in USD, `entityId` and
`counterparty` (`name`, `routingNumber`, `accountLast4`, `countryCode`). As at the bank's sandbox, it settles at once.
`entityId` names an entity that the program knows, or an account (`bacc_…`); without it an account is used that nobody
owns. The same counterparty details are the same counterparty. A transfer follows a pre-flight that asked about it.

An ACH entry to one of these names comes back after it settled, where its code fits its type:

"""
_ENTITIES: Final = """
`identity.created` is followed by the verification that the bank's sandbox would send, unless the data states one:

"""
_RETURNS: Final = """
## Events and returns

`POST …/event` takes a type of [the bank's](events.md) and stores `data` as it is, however odd: `GET /api/events/{id}`
says which field could not be used. Another type is a 400. The event's own time is now.

`POST …/return` sends the bank's object once more, with what a return adds.

| Rail | `returnCode` |
|---|---|
| ach | R01 to R47, R50 to R53, R80 to R85; a CREDIT does not come back as unauthorized, unfunded or stopped |
| check | the reason's letter: A, B, C, D, E, F, N or Q |
| intl_wire | left out |

409 (`transfer_not_returnable`) for wires, realtime payments, book and card transfers, which are final; for a transfer
that was not sent yet, moved no money, or came back already. 404 for one that the program does not have.

Why it is built so: decision [0044](decisions/0044-self-contained-sandbox-runs.md).
"""


def markdown() -> str:
    """The whole page."""
    return "".join((_HEAD, _WALK, _SCENARIOS, *_lines(_scenario_table()), _AFTER, *_lines(_magic()), _RETURNS))


def _lines(lines: Iterable[str]) -> Iterator[str]:
    return (f"{line}\n" for line in lines)


def _scenario_table() -> Iterator[str]:
    yield "| scenario | what happens | rails | opens |"
    yield "|---|---|---|---|"
    for scenario in SCENARIOS.values():
        opens = ", ".join(f"`{each}`" for each in scenario.expects) or "nothing"
        yield f"| `{scenario.name}` | {scenario.description} | {', '.join(scenario.rails) or '-'} | {opens} |"


def _magic() -> Iterator[str]:
    yield "| counterparty's name | comes back as |"
    yield "|---|---|"
    for name, code in MAGIC_NAMES.items():
        yield f"| `{name}` | {code} |"
    yield _ENTITIES.rstrip("\n")
    yield ""
    yield "| last name, or name of a business | verification |"
    yield "|---|---|"
    for name, status in STATUS_OF_NAME.items():
        yield f"| `{name}` | {status} |"
    yield "| any other | VERIFIED |"
