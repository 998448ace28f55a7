"""The part of the vector that is measured over series by kind: amounts, returns, ACH entries and card attempts."""

from bisect import bisect_left, bisect_right
from typing import Final

from clearhold.features.catalogue.amounts import Amounts
from clearhold.features.catalogue.flows import AchEntries, Cards, Returns
from clearhold.features.core.instants import DAY_US, DAYS_30, DAYS_90, HOUR_US, two_banking_days_before
from clearhold.features.core.vocabulary import Rail
from clearhold.features.measurement.subject import Before, Subject
from clearhold.features.state.program_series import ProgramSeries
from clearhold.features.windows.edges import NOBODY
from clearhold.features.windows.series import ALWAYS
from clearhold.features.windows.series_kinds import SeriesByKind, SeriesKind, attempt_kinds, cents_in, count_in

NEWEST: Final = 64
MEDIAN_FLOOR: Final = 5
UNPRICED_LOOKS: Final = 1_024  # transfers without an amount that are skipped to find the newest with one
_WITHIN_PARTS: Final = 10
_NO_AMOUNTS: Final = Amounts(None, None, 0, 0, 0, 0)
_NO_CARD: Final = Cards(0, 0, 0, 0, 0, 0, 0, 0, 0)
_CARD: Final = Rail.CARD.value
# Looked up once: see ``features/bank/transfers.py``.
_RECEIVED, _CARDS, _ROUND = SeriesKind.RECEIVED, SeriesKind.CARD, SeriesKind.ROUND
_PULLED, _FAST = SeriesKind.PULLED, SeriesKind.FAST
_MICRO, _MICRO_DEBIT = SeriesKind.MICRO, SeriesKind.MICRO_DEBIT


def amounts_of(subject: Subject, before: Before, at: int) -> tuple[Amounts, int | None]:
    """Age, median, equal and round amounts, cents received and sent in 48 h; and the 90th percentile of amounts."""
    actor, own, cents = subject.actor, subject.own, subject.cents
    kinds = subject.kinds
    own_round = 1 if _ROUND in kinds else 0
    received = cents or 0 if _RECEIVED in kinds else 0
    sent = 0 if _RECEIVED in kinds or subject.rail == _CARD or not subject.moved else cents or 0
    if actor is None:
        return _NO_AMOUNTS, None
    its_own, has_history = own.moved and own.actor is actor, before.previous_at is not None
    of_quarter, of_day = _newest_amounts(subject, before, at, its_own=its_own) if has_history else ([], 0)
    n, in_order = len(of_quarter), sorted(of_quarter)
    equal = 0 if cents is None else int(subject.moved)
    if of_day and cents is not None:
        slack = cents // _WITHIN_PARTS
        sorted_day = in_order if of_day >= n else sorted(of_quarter[-of_day:])
        equal += bisect_right(sorted_day, cents + slack) - bisect_left(sorted_day, cents - slack)
    all_48h = before.of_48h[1]
    received_48h = cents_in(actor.series_by_kind, _RECEIVED, at - 2 * DAY_US, at)
    sent_48h = all_48h - received_48h - cents_in(actor.series_by_kind, _CARDS, at - 2 * DAY_US, at)
    if its_own and _RECEIVED in own.kinds:
        received_48h -= own.cents or 0
    elif its_own and _CARDS not in own.kinds:
        sent_48h -= own.cents or 0
    amounts = Amounts(
        entity_age_days=_age_days(subject, at, has_history),
        entity_median_cents_90d=in_order[(n - 1) // 2] if n >= MEDIAN_FLOOR else None,
        repeated_amount_count_24h=equal,
        round_amount_count_30d=_counted(subject, _ROUND, at - DAYS_30, at) + own_round,
        entity_in_cents_48h=received_48h + received,
        entity_out_cents_48h=sent_48h + sent,
    )
    return amounts, in_order[9 * (n - 1) // 10] if n >= MEDIAN_FLOOR else None


def returns_of(subject: Subject, at: int, own_return: int) -> Returns:
    """Counterparties whose returns show that accounts do not exist; days since a return that forbids another debit."""
    actor, counterparty = subject.actor, subject.counterparty
    probed = 0
    if actor is not None and actor.probes is not None:
        probed = actor.probes.near(at - DAYS_30, at, but=subject.own.row, as_of=at).distinct(at - DAYS_30)
    stops = (
        None
        if counterparty is None or counterparty.series_by_kind is None
        else counterparty.series_by_kind.get(SeriesKind.STOP)
    )
    if stops is None:
        return Returns(probed, None)
    own_stop = own_return if subject.own.stop and subject.own.counterparty is counterparty else 0
    stopped_at = stops.previous(at, skip=own_stop)
    return Returns(
        entity_probing_returns_30d=probed,
        counterparty_stop_return_days=None if stopped_at is None else (at - stopped_at) // DAY_US,
    )


def ach_entries(subject: Subject, program: ProgramSeries, before: Before, at: int) -> AchEntries:
    """ACH debits ever, cents pulled and sent on fast within two banking days, micro-entries, forward debits of 24 h."""
    actor, own, kinds = subject.actor, subject.own, subject.kinds
    micro = 1 if _MICRO in kinds else 0
    fast = subject.cents or 0 if _FAST in kinds else 0
    of_program = micro + count_in(program.series_by_kind, _MICRO, at - DAY_US, at)
    if own.moved and _MICRO in own.kinds:
        of_program -= 1
    if actor is None:
        return AchEntries(0, 0, 0, 0, of_program, 0)
    debits, own_debit = before.debits, before.own_debit
    every = debits.count(ALWAYS, at) - own_debit if debits is not None else 0
    of_day = debits.count(at - DAY_US, at) - own_debit if debits is not None else 0
    since = two_banking_days_before(at) - 1
    return AchEntries(
        entity_ach_debits_all=every,
        entity_pulled_cents_2bd=_cents(subject, _PULLED, since, at) if debits is not None else 0,
        entity_fast_out_cents_2bd=_cents(subject, _FAST, since, at) + fast,
        entity_micro_entries_24h=_counted(subject, _MICRO, at - DAY_US, at) + micro,
        program_micro_entries_24h=of_program,
        entity_forward_debits_24h=of_day - _counted(subject, _MICRO_DEBIT, at - DAY_US, at),
    )


def card_attempts(subject: Subject, program: ProgramSeries, at: int) -> Cards:
    """Declines and small attempts of the card in an hour; attempts and declines of the program in 1 h, 24 h, 30 d."""
    if subject.rail != _CARD:
        return _NO_CARD
    own = subject.own
    kinds = attempt_kinds(subject.cents, subject.status, subject.card_reason)
    card = program.cards.get(subject.card) if subject.card != NOBODY else None
    its_own = own.attempts if own.card == subject.card else ()

    def count(series: SeriesByKind | None, kind: SeriesKind, window: int, own_kinds: tuple[SeriesKind, ...]) -> int:
        return count_in(series, kind, at - window, at) - (kind in own_kinds) + (kind in kinds)

    whole, is_known = program.series_by_kind, subject.card != NOBODY
    return Cards(
        card_declines_1h=count(card, SeriesKind.DECLINE, HOUR_US, its_own) if is_known else None,
        card_small_count_1h=count(card, SeriesKind.SMALL, HOUR_US, its_own) if is_known else None,
        program_card_attempts_1h=count(whole, SeriesKind.ATTEMPT, HOUR_US, own.attempts),
        program_card_declines_1h=count(whole, SeriesKind.DECLINE, HOUR_US, own.attempts),
        program_card_small_count_1h=count(whole, SeriesKind.SMALL_OR_5, HOUR_US, own.attempts),
        program_card_attempts_24h=count(whole, SeriesKind.ATTEMPT, DAY_US, own.attempts),
        program_card_fraud_declines_24h=count(whole, SeriesKind.FRAUD_DECLINE, DAY_US, own.attempts),
        program_card_attempts_30d=count(whole, SeriesKind.ATTEMPT, DAYS_30, own.attempts),
        program_card_fraud_declines_30d=count(whole, SeriesKind.FRAUD_DECLINE, DAYS_30, own.attempts),
    )


def _newest_amounts(subject: Subject, before: Before, at: int, *, its_own: bool) -> tuple[list[int], int]:
    """The actor's newest amounts of 90 days without the subject's, and how many of them are of 24 h.

    A transfer without a known amount in US dollars has 0 cents in the series, and is skipped.
    """
    actor, own = subject.actor, subject.own
    assert actor is not None
    amounts, since = actor.amounts, at - DAYS_90
    unpriced = None if actor.series_by_kind is None else actor.series_by_kind.get(SeriesKind.UNPRICED)
    if unpriced is None:
        but = (at, own.cents or 0) if its_own else None
        return amounts.newest(since, at, most=NEWEST, but=but), before.of_24h[0] - its_own
    facts = amounts.newest_facts(since, at, most=NEWEST + min(unpriced.count(since, at), UNPRICED_LOOKS) + 1)
    left_out = {time: unpriced.count_between(time - 1, time, as_of=at) for time, cents in facts if not cents}
    if its_own and own.cents is not None and (at, own.cents) in facts:  # Else enough others of its instant are larger.
        facts.remove((at, own.cents))
    priced: list[tuple[int, int]] = []
    for time, cents in facts:
        if not cents and left_out[time]:
            left_out[time] -= 1
        else:
            priced.append((time, cents))
    newest = priced[-NEWEST:]
    return [cents for _, cents in newest], sum(1 for time, _ in newest if time > at - DAY_US)


def _age_days(subject: Subject, at: int, has_history: bool) -> int | None:  # noqa: FBT001
    actor = subject.actor
    if actor is None:
        return None
    first_at = actor.amounts.first(at) if has_history else None
    created_at = actor.profile_at(at).created_at
    if created_at is not None and created_at <= at and (first_at is None or created_at < first_at):
        first_at = created_at
    return None if first_at is None else (at - first_at) // DAY_US


def _counted(subject: Subject, kind: SeriesKind, after: int, upto: int) -> int:
    """The actor's transfers of a kind, without the subject."""
    assert subject.actor is not None
    own = subject.own
    return count_in(subject.actor.series_by_kind, kind, after, upto) - (
        1 if own.moved and own.actor is subject.actor and kind in own.kinds else 0
    )


def _cents(subject: Subject, kind: SeriesKind, after: int, upto: int) -> int:
    assert subject.actor is not None
    own = subject.own
    return cents_in(subject.actor.series_by_kind, kind, after, upto) - (
        own.cents or 0 if own.moved and own.actor is subject.actor and kind in own.kinds else 0
    )
