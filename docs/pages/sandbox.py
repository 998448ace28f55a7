"""The sandbox as a page, ``docs/sandbox.md``: what it does, every scenario, and a walk through it with curl."""

from collections.abc import Iterable, Iterator
from typing import Final

from clearhold.features.sandbox.order import MAGIC_NAMES, STATUS_OF_NAME
from clearhold.features.sandbox.scenarios import MOST_REPETITIONS, SCENARIOS

_HEAD: Final = """# Sandbox

Try everything without moving money: the sandbox sends the bank's events to a simulated program, through the same ingest
and the same log as real events. Transfers, scores, alerts, webhooks and reports follow as usual, marked `simulated`.
Made from `features/sandbox`; a test keeps the two equal.

It takes a test key with the scope `sandbox`, and a program that was created with `"source": "simulated"`. Operator
tokens and live keys get 403 (`test_key_required`), and so does a test key on a program of the bank
(`program_out_of_reach`).

| Call | Does |
|---|---|
| `GET /api/sandbox/scenarios` | lists the scenarios, each with the alerts that it must open |
| `POST /api/sandbox/{programId}/scenario` | runs one: `scenario`, `seed`, `count` |
| `POST /api/sandbox/{programId}/transfer` | runs one transfer from initiation to settlement |
| `POST /api/sandbox/{programId}/event` | sends one event with your `data` |
| `POST /api/sandbox/{programId}/return` | returns a transfer, as the bank would: `transferId`, `returnCode` |

## A walk through it

The commands continue the [README](../README.md), which sets `DIR`, `URL`, `TENANT`, `TOKEN`, `call` and `field`.

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

The answer names the events, the last transfer, and the alert that the second return opened. The next commands create a
customer that the bank puts into review because of the name, a debit that is returned by itself, and a debit that you
return:

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

- `events` are the ids of the stored events. `GET /api/events/{id}` has the result of each.
- The answer comes when everything is committed, so `alertIds` and `score` are complete. That takes milliseconds. After
  5 seconds the answer comes anyway, with `committed: false` and the results so far. The events are durable: read
  `GET /api/alerts?programId=` a little later. A repeat under the key gets the same answer again.
- `alertIds` are the alerts that these events opened or changed. Alerts that a snapshot of key risk indicators opens on
  the program are not listed, because a snapshot may run at any time.
- A repeat under the same `Idempotency-Key` gets the stored answer, also when the first answer was lost on the network.
  Nothing happens twice. A request without a key is a new run.
- A tenant may have 8 requests in progress, all tenants together 16; one more is a 429 (`too_many_at_once`).

"""
_SCENARIOS: Final = """## Scenarios

"""
_AFTER: Final = f"""
Each run creates new people, accounts and counterparties: a customer with two months of small payments, and then the
scenario. The scenario ends now; earlier events are backdated, like history that is loaded late. So a run opens exactly
these alerts, in an empty program and in one full of history, for any number and order of runs.

- `seed` (0 when left out) fixes names and amounts. Ids are new in every run, also with the same seed, so each run adds
  to the program.
- `count` (1 to {MOST_REPETITIONS}) is the number of repetitions, each with different people.
- A program that declares its rails must declare those of the scenario, else `rail_outside_declared` opens as well.
  `intl_wire_undeclared_country` needs a program that declares countries.
- A scenario's large amounts are unusual unless a program's ordinary payments are that large. Caps that you set, and
  policies that you change, open and close further alerts.
- Rules of the bank that are in force open their own alerts `rule:<id>` beside these, or in place of `band_review`.
- The bank sends no event when an account is opened, and its transfers name no entity. The sandbox states the owner of
  an account in an event `account.unfrozen`. Your bank's API gets no requests for ids of the sandbox (`…_sbx…`).

## Transfers, and names with a meaning

`POST …/transfer` takes `rail`, `direction`, `type` (CREDIT or DEBIT, on ach), `amountCents` in USD, `entityId` and
`counterparty` (`name`, `routingNumber`, `accountLast4`, `countryCode`). As at the bank's sandbox, it settles at once.
`entityId` names an entity that the program knows, or an account (`bacc_…`); without it an account without an owner is
used. The same counterparty details are the same counterparty. A transfer is matched to an earlier pre-flight about it.

An ACH entry to one of these names is returned after it settled, where the return code fits its type:

"""
_ENTITIES: Final = """
`identity.created` is followed by the verification that the bank's sandbox would send, unless the data states one:

"""
_RETURNS: Final = """
## Events and returns

`POST …/event` takes one of [the bank's types](events.md) and stores `data` unchanged, also when it has faults:
`GET /api/events/{id}` names the field that could not be used. Another type is a 400. The event's own time is now.

`POST …/return` sends the bank's object again, with the fields of a return.

| Rail | `returnCode` |
|---|---|
| ach | R01 to R47, R50 to R53, R80 to R85; a CREDIT does not come back as unauthorized, unfunded or stopped |
| check | the reason's letter: A, B, C, D, E, F, N or Q |
| intl_wire | left out |

409 (`transfer_not_returnable`) for wires, realtime payments, book and card transfers, which are final; for a transfer
that was not sent yet, moved no money, or came back already. 404 for one that the program does not have.

Decision [0044](decisions/0044-self-contained-sandbox-runs.md) has the reasons for this design.
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
