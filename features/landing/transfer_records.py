"""Builds ``TransferRecord``: from a first snapshot, and from a newer one over the stored record.

Both builders write the fields by position, in the order of the Struct: naming all 28 costs three times as much,
and one record is built for each event.

The US cents that a transfer counts with are as the bank states them, else at the rate of the policy in force. A rate
stays with its transfer until the amount or the currency changes, or the bank states US dollars: an activation changes
nothing that was counted. A replay applies a snapshot that was delivered later before one that was delivered earlier;
then the rate is again the one at the earlier delivery, which the transfer has.
"""

from msgspec.structs import replace

from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.bank.purchases import NOTHING_STATED
from clearhold.features.bank.statuses import UNMOVED_STATUSES
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.money import ACH_TYPES, USD, UsdRate, cents_at, class_of, usd_cents_of
from clearhold.features.measurement.assessment import Assessment
from clearhold.features.policy.in_force import usd_rate
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import NO_INSTANT, UNMEASURED, UNPRICED, UNSCORED, TransferRecord, priced
from clearhold.features.windows.baseline import BaselineValues, bucket_of, middle_of


def first_record(
    program: ProgramState,
    snapshot: TransferSnapshot,
    position: EntryPosition,
    assessment: Assessment,
    *,
    cents: int | None,
    at: int,
    actor: Actor | None,
    counterparty: KnownCounterparty | None,
    country: str | None,
    baseline: BaselineValues,
) -> TransferRecord:
    number = program.strings.number
    score = assessment.score
    return TransferRecord(
        UNPRICED if cents is None else cents,
        at,
        snapshot.updated_at if snapshot.updated_at is not None else position.event_at,
        position.event_at,
        position.appended_at,
        position.offset,
        position.offset,
        NO_INSTANT if snapshot.effective_at is None else snapshot.effective_at,
        actor.index if actor is not None else -1,
        counterparty.index if counterparty is not None else -1,
        program.accounts.number(snapshot.account_id),
        score.n,
        *_packed_baseline(baseline),
        number(snapshot.status or "UNKNOWN"),
        number(country),
        number(snapshot.sec_code),
        number(snapshot.currency or USD),
        number(snapshot.card_decision_reason),
        class_of(snapshot.rail, snapshot.direction),
        ACH_TYPES.index(snapshot.type),
        UNSCORED if score.value is None else score.value,
        0 if score.confidence is None else round(score.confidence * 1_000),
        has_moved(snapshot.status),
        snapshot.amount_cents or 0,
        program.card_table.number(snapshot.card_id),
        program.purchases.number(snapshot.purchase),
    )


def merged_record(
    program: ProgramState,
    stored: TransferRecord,
    snapshot: TransferSnapshot,
    position: EntryPosition,
    *,
    updated_at: int,
    actor: Actor | None,
    counterparty: KnownCounterparty | None,
) -> TransferRecord:
    """The stored record with every field of a newer snapshot; the score stays."""
    number = program.strings.number
    amount, cents = _merged_amount(program, stored, snapshot)
    return TransferRecord(
        UNPRICED if cents is None else cents,
        stored.at,
        updated_at,
        position.event_at,
        stored.scored_at,
        stored.scored_offset,
        position.offset,
        stored.effective_at if snapshot.effective_at is None else snapshot.effective_at,
        actor.index if actor is not None else -1,
        counterparty.index if counterparty is not None else -1,
        stored.account if snapshot.account_id is None else program.accounts.number(snapshot.account_id),
        stored.score_n,
        stored.baseline_n,
        stored.baseline_median,
        stored.baseline_p95,
        stored.status if snapshot.status is None else number(snapshot.status),
        _merged_country(program, stored, snapshot, counterparty),
        stored.sec_code if snapshot.sec_code is None else number(snapshot.sec_code),
        stored.currency if snapshot.currency is None else number(snapshot.currency),
        stored.card_reason if snapshot.card_decision_reason is None else number(snapshot.card_decision_reason),
        stored.class_id,
        stored.ach_type if snapshot.type is None else ACH_TYPES.index(snapshot.type),
        stored.score,
        stored.confidence_permille,
        stored.moved if snapshot.status is None else has_moved(snapshot.status),
        amount,
        stored.card if snapshot.card_id is None else program.card_table.number(snapshot.card_id),
        _merged_purchase(program, stored, snapshot),
    )


def has_moved(status: str | None) -> bool:
    """False for an attempt: declined, rejected or canceled before any money moved."""
    return status not in UNMOVED_STATUSES


def baseline_of(record: TransferRecord) -> BaselineValues:
    """The program's baseline at first sight, from the record."""
    if record.baseline_n == UNMEASURED:
        return BaselineValues(None, None, None)
    return BaselineValues(record.baseline_n, middle_of(record.baseline_median), middle_of(record.baseline_p95))


def with_baseline(record: TransferRecord, vector: FeatureVector) -> TransferRecord:
    """The record with the baseline of a vector that was recomputed, for when the transfer is scored again."""
    values = BaselineValues(vector.program_n_90d, vector.program_median_cents, vector.program_p95_cents)
    n, median, p95 = _packed_baseline(values)
    return replace(record, baseline_n=n, baseline_median=median, baseline_p95=p95)


def _packed_baseline(baseline: BaselineValues) -> tuple[int, int, int]:
    """N and the histogram buckets of median and 95th percentile."""
    if baseline.n is None or baseline.median_cents is None or baseline.p95_cents is None:
        return UNMEASURED, 0, 0
    return baseline.n, bucket_of(baseline.median_cents), bucket_of(baseline.p95_cents)


def _merged_amount(program: ProgramState, stored: TransferRecord, snapshot: TransferSnapshot) -> tuple[int, int | None]:
    """The amount in its own currency, and in US cents; a snapshot without an amount changes neither."""
    currency = snapshot.currency or program.strings.text(stored.currency)
    if snapshot.amount_cents is not None:
        return snapshot.amount_cents, usd_cents_of(snapshot.amount_cents, currency, snapshot.stated_usd_cents)
    stated = priced(stored.cents) if snapshot.stated_usd_cents is None else snapshot.stated_usd_cents
    return stored.amount, usd_cents_of(stored.amount, currency, stated)


def _merged_country(
    program: ProgramState, stored: TransferRecord, snapshot: TransferSnapshot, counterparty: KnownCounterparty | None
) -> int:
    """The number of the snapshot's country; a changed counterparty brings its country on file."""
    if snapshot.country is not None:
        return program.strings.number(snapshot.country or None)
    if counterparty is not None and counterparty.index != stored.counterparty:
        return program.strings.number(counterparty.country)
    return stored.country


def _merged_purchase(program: ProgramState, stored: TransferRecord, snapshot: TransferSnapshot) -> int:
    if snapshot.purchase is NOTHING_STATED:
        return stored.purchase
    former = program.purchases.all[stored.purchase]
    return stored.purchase if snapshot.purchase == former else program.purchases.number(snapshot.purchase.over(former))


def priced_at(
    program: ProgramState, amount: int, currency: str | None, stated_usd_cents: int | None, *, at: int, decided_at: int
) -> tuple[int | None, UsdRate | None]:
    """The US cents of a transfer of ``at``, with the rate where they rest on one; None where they are not known."""
    cents = usd_cents_of(amount, currency, stated_usd_cents)
    if cents is not None:
        return cents, None
    rate = usd_rate(program, currency, at, decided_at=decided_at)
    return (None, None) if rate is None else (cents_at(amount, rate), rate)


def reprice(
    program: ProgramState,
    row: int,
    stored: TransferRecord,
    merged: TransferRecord,
    snapshot: TransferSnapshot,
    *,
    decided_at: int,
) -> TransferRecord:
    """The merged record of a newer snapshot with its US cents, if they rest on a rate."""
    rate = program.rates.get(row)
    if rate is None and merged.cents != UNPRICED:
        return merged
    currency = program.strings.text(merged.currency) or USD
    if snapshot.stated_usd_cents is not None or currency == USD:
        program.rates.pop(row, None)
        return merged
    is_same = (merged.amount, merged.currency) == (stored.amount, stored.currency)
    if rate is not None and is_same and not program.policies.is_only_later(rate.version, decided_at):
        return replace(merged, cents=stored.cents)
    cents, rate = priced_at(program, merged.amount, currency, None, at=merged.at, decided_at=decided_at)
    if rate is None:
        program.rates.pop(row, None)
    else:
        program.rates[row] = rate
    return replace(merged, cents=UNPRICED if cents is None else cents)
