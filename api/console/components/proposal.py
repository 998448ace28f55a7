"""The form of a proposed transfer, and the answer of a pre-flight in words."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import htpy as h

from clearhold.api.console.components.limits import typed_cents
from clearhold.api.console.components.settings import refusal
from clearhold.api.console.components.timeline import thing_path
from clearhold.api.console.components.why import by_family, lower_bands, reason_line, why_heading
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import band_mark, count, marked, moment, money, outsider
from clearhold.api.console.visit import Visit
from clearhold.api.explain.service import PreflightExplained
from clearhold.api.preflight.schemas import PreflightDetail, PreflightSummary
from clearhold.features.core.entries.preflight import HARD_HIT, LimitHit
from clearhold.features.core.errors import InvalidRequestError
from clearhold.features.core.principal import Program
from clearhold.features.core.vocabulary import AchType, Decision, Direction, Rail
from clearhold.features.limits.ladder import NOT_ON_FILE

PREFLIGHTS: Final = "/console/preflight"
_DECISIONS: Final[Mapping[Decision, str]] = {
    Decision.CLEAR: "● Clear: nothing speaks against it",
    Decision.REVIEW: "▲ Review: a person should look before it moves",
    Decision.HOLD: "■ Hold: it should not move",
}
_DEGRADED: Final[Mapping[str, str]] = {
    "amount_not_in_usd": "No daily rate of the bank counts for the currency, so there is no score.",
    "counterparty_country_missing": "The counterparty's country is missing, or the code of no country.",
    "country_unknown": "The counterparty's country is neither given nor on file.",
    "card_unknown": "Several cards were seen on the entity's transfers, so attempts on the card are not measured.",
    "screening_missing": "The entity requires a screening and was never screened.",
    "state_behind": "Delivered events have waited for two seconds and are not counted yet.",
    "state_late": "The program's state did not answer in time: there is no score, and no limit was checked.",
    "entity_unknown": "The entity is not named, or no event named it yet.",
    "entity_unverified": "The bank has not verified the entity.",
    "baseline_thin": "The program has fewer than five transfers in 90 days, so its usual amounts are not known.",
    "program_usual_unknown": "The program is too new for shares of its transfers: fixed counts have their points.",
}
_LIMITS: Final[Mapping[str, str]] = {"entity": "the entity", "counterparty": "the counterparty"}
_MOST_ON_SLIDER: Final = 2_000_000
"""In cents; twice the typed amount when that is more."""


def proposal_body(form: Mapping[str, str]) -> dict[str, Any]:
    """The typed transfer as the body of the interface's request; InvalidRequestError for an unreadable amount."""
    typed = {name: text for name, value in form.items() if (text := value.strip())}
    transfer: dict[str, Any] = {
        "rail": typed.get("rail"),
        "direction": typed.get("direction"),
        "amountCents": str(typed_cents(typed.get("amount", ""), "amount")),
    }
    texts = ("type", "entityId", "counterpartyId", "description", "entryMode", "merchantCategory", "merchantState")
    transfer |= {name: typed[name] for name in texts if name in typed}
    if "effectiveOn" in typed:
        transfer["effectiveOn"] = typed["effectiveOn"]
    if "currency" in typed:
        transfer["currency"] = typed["currency"].upper()
    if "cardPresent" in typed:
        transfer["cardPresent"] = typed["cardPresent"] == "yes"
    party = {key: typed[key] for key in ("name", "routingNumber", "accountLast4", "countryCode") if key in typed}
    if party:
        transfer["counterparty"] = party
    return {"programId": typed.get("program"), "transfer": transfer}


def typed_again(detail: PreflightDetail) -> dict[str, str]:
    """The fields of the form from a recorded request."""
    transfer = dict(detail.request.get("transfer") or {})
    party = dict(transfer.pop("counterparty", None) or {})
    cents = int(transfer.pop("amountCents", "0"))
    present = transfer.pop("cardPresent", None)
    fields = {name: str(value) for name, value in (transfer | party).items() if value is not None}
    fields |= {"amount": f"{cents // 100}.{cents % 100:02d}", "program": detail.program_id}
    return fields if present is None else fields | {"cardPresent": "yes" if present else "no"}


def proposal_form(
    visit: Visit, programs: Sequence[Program], typed: Mapping[str, str], refused: str | None
) -> h.Element:
    return visit.form_of(
        PREFLIGHTS,
        refusal(refused),
        _of_transfer(programs, typed),
        h.fieldset[
            h.legend["The parties"],
            _field(typed, "entityId", "Entity or account of the program, by the bank's id"),
            _field(typed, "counterpartyId", "Counterparty on file, by the bank's id"),
            _field(typed, "name", "Counterparty's name, if it is not on file"),
            _field(typed, "routingNumber", "Routing number or BIC"),
            _field(typed, "accountLast4", "Last four of the account"),
            _field(typed, "countryCode", "Country", placeholder="US"),
            _field(typed, "description", "Text of the statement"),
        ],
        _of_card(typed),
        h.button(".main", type="submit")["Ask"],
        h.p(".small")["The answer is recorded as one of the interface is, under your name. No money moves."],
        **{"class": "proposal"},
    )


def _of_transfer(programs: Sequence[Program], typed: Mapping[str, str]) -> h.Element:
    return h.fieldset[
        h.legend["The transfer"],
        h.label[
            "Program",
            h.select(name="program")[
                (
                    h.option(value=each.id, selected=typed.get("program") == each.id)[marked(each.name)]
                    for each in programs
                )
            ],
        ],
        _choice(typed, "rail", "Rail", Rail),
        _choice(typed, "direction", "Direction", Direction),
        _choice(typed, "type", "Type, of ACH alone", AchType, "not given"),
        h.label[
            "Amount",
            h.input("#amount", name="amount", value=typed.get("amount", ""), inputmode="decimal", required=True),
        ],
        _slider(typed),
        _field(typed, "currency", "Currency", placeholder="USD", maxlength="3"),
        _field(typed, "effectiveOn", "Moves on (a date)", placeholder="today"),
    ]


def _of_card(typed: Mapping[str, str]) -> h.Element:
    present = typed.get("cardPresent", "")
    answers = (("", "not known"), ("yes", "yes"), ("no", "no"))
    return h.details(open=typed.get("rail") == Rail.CARD.value)[
        h.summary["Of a card"],
        h.fieldset[
            h.label[
                "The card is at the merchant",
                h.select(name="cardPresent")[
                    (h.option(value=value, selected=value == present)[words] for value, words in answers)
                ],
            ],
            _field(typed, "entryMode", "Entry mode, in the issuer's word"),
            _field(typed, "merchantCategory", "Merchant category", maxlength="4"),
            _field(typed, "merchantState", "Merchant's state", maxlength="2"),
        ],
    ]


def _field(typed: Mapping[str, str], name: str, label: str, **attributes: str) -> h.Element:
    return h.label[
        label, h.input(attributes, name=name, value=typed.get(name, ""), autocomplete="off", spellcheck="false")
    ]


def _choice(
    typed: Mapping[str, str], name: str, label: str, kinds: type[StrEnum], none: str | None = None
) -> h.Element:
    options = [] if none is None else [h.option(value="")[none]]
    options += [
        h.option(value=each.value, selected=typed.get(name) == each.value)[each.value.replace("_", " ")]
        for each in kinds
    ]
    return h.label[label, h.select(name=name)[options]]


def _slider(typed: Mapping[str, str]) -> h.Element:
    """For those with scripts: it changes the amount beside it."""
    try:
        cents = typed_cents(typed.get("amount", ""), "amount")
    except InvalidRequestError:
        cents = 0
    most = max(_MOST_ON_SLIDER, 2 * cents) // 100
    return h.label(".slider")[
        "Try another amount",
        h.input(type="range", min="0", max=str(most), step="1", value=str(cents // 100), data_changes="amount"),
    ]


def answer(detail: PreflightDetail, explained: PreflightExplained | None) -> h.Element:
    """The decision, the limits, the missing inputs, and why. Without its card, a score has its recorded reasons."""
    sent = detail.request["transfer"]
    confidence = "not measured" if detail.confidence is None else f"{detail.confidence:.2f}"
    return h.section("#answer.answer", tabindex="-1")[
        h.h2(class_=f"decided {detail.decision.value}")[_DECISIONS[detail.decision]],
        h.p[_words(sent["amountCents"], sent.get("currency"), sent["direction"], sent["rail"])],
        h.p[
            band_mark(detail.band, detail.score),
            f" · n = {detail.n:,} · confidence {confidence} · {detail.version} · answered in {detail.latency_ms} ms",
        ],
        h.ul(".limits-hit")[(h.li[_limit(each)] for each in detail.limits_hit)] if detail.limits_hit else None,
        _degraded(detail),
        _recorded(detail) if explained is None else _explained(detail, explained),
        h.p(".small")[
            "Asked ",
            moment(detail.created_at),
            ", pre-flight ",
            h.code[detail.preflight_id],
            (
                ", landed as ",
                h.a(href=thing_path("transfer", detail.matched_transfer_id, detail.program_id))["its transfer"],
            )
            if detail.matched_transfer_id
            else None,
            ".",
        ],
    ]


def _explained(detail: PreflightDetail, explained: PreflightExplained) -> h.Node:
    return [
        h.h3[why_heading(explained)],
        by_family(explained) if detail.reasons else h.p["No reason counts against it."],
        h.h3["How it would have cleared"],
        lower_bands(explained),
    ]


def _recorded(detail: PreflightDetail) -> h.Node:
    return [
        h.h3[f"Why {'unscored' if detail.score is None else detail.score}"],
        h.p[
            "The card of this score is not available: ",
            h.code[detail.version],
            " cannot score in this version of the service. Its reasons are as recorded, without their families.",
        ],
        h.ul(".reasons")[(reason_line(each) for each in detail.reasons)]
        if detail.reasons
        else h.p["No reason was recorded."],
    ]


def _words(amount_cents: str, currency: str | None, direction: str, rail: str) -> str:
    return f"{money(amount_cents, currency or 'USD')} {direction} by {rail.replace('_', ' ')}"


def _limit(hit: LimitHit) -> h.Node:
    name = hit.limit.rpartition(".")[2].replace("_", " ")
    who = ", which is not on file," if hit.actor_id == NOT_ON_FILE else (" ", h.code[outsider(hit.actor_id)])
    strength = "holds it" if hit.severity == HARD_HIT else "asks for a person"
    return (
        f"The limit {name} of {_LIMITS.get(hit.actor, hit.actor)}",
        who,
        f" is {money(hit.cap)}: {money(hit.observed)} moved before, and this is {money(hit.proposed)}. It {strength}.",
    )


def _degraded(detail: PreflightDetail) -> h.Node:
    if not detail.degraded_reasons:
        return None
    number = len(detail.degraded_reasons)
    return h.details(".taken", open=detail.degraded)[
        h.summary[f"{count(number, 'input is', 'inputs are')} missing or stale"],
        h.ul[(h.li[_DEGRADED.get(each, each.replace("_", " "))] for each in detail.degraded_reasons)],
    ]


def recent(asks: Sequence[PreflightSummary], names: Mapping[str, str]) -> h.Element:
    return h.section("#recent")[
        h.h2["Newest pre-flights"],
        wide_table(
            "Newest pre-flights", ("Asked", "Transfer", "Program", "Answer"), _rows(asks, names), style="endpoints"
        )
        if asks
        else h.p["None was asked yet."],
    ]


def _rows(asks: Sequence[PreflightSummary], names: Mapping[str, str]) -> Iterable[h.Element]:
    for each in asks:
        what = _words(each.amount_cents, each.currency, each.direction, each.rail)
        yield h.tr[
            h.td(data_label="Asked")[moment(each.created_at)],
            h.td(".words", data_label="Transfer")[h.a(href=f"{PREFLIGHTS}/{each.preflight_id}")[what]],
            h.td(data_label="Program")[outsider(names.get(each.program_id))],
            h.td(data_label="Answer")[f"{each.decision.value} ", band_mark(each.band, each.score)],
        ]
