"""Match-back: which landed transfer a pre-flight was about, through the shard as the log drives it."""

from typing import Any, Final

import msgspec
import pytest

from clearhold.features.core.entries.preflight import Preflight, PreflightRecord, ProposedCounterparty, ProposedTransfer
from clearhold.features.core.instants import HOUR_US, MILLISECOND_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.events import PreflightMatchRow
from clearhold.features.core.vocabulary import Decision, Direction, Rail
from clearhold.features.limits.proposed import assess_proposed
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import PROGRAM, ShardStory

WIRE: Final = "wire.outgoing_transfer.initiated"
COUNTERPARTY: Final = "counterparty.created"


def record_preflight(
    story: ShardStory,
    preflight_id: str,
    *,
    at: int = T0,
    counterparty_id: str | None = None,
    currency: str = "USD",
    **other: Any,
) -> None:
    """Ask about a wire of 100.00 and let the log record the answer."""
    proposed = ProposedCounterparty(**other) if other else None
    transfer = ProposedTransfer(
        rail=Rail.WIRE,
        direction=Direction.OUTGOING,
        amount_cents="10000",
        currency=currency,
        counterparty_id=counterparty_id,
        counterparty=proposed,
    )
    found = assess_proposed(story.program, transfer, at=at)
    score = found.score
    answer = Preflight(
        preflight_id=preflight_id,
        decision=Decision.CLEAR,
        score=score.value,
        band=score.band,
        version=score.version,
        n=score.n,
        confidence=score.confidence,
        reasons=score.reasons,
        limits_hit=(),
        degraded=False,
        degraded_reasons=(),
        latency_ms=0,
        idempotent=False,
        program_id=PROGRAM,
    )
    record = PreflightRecord(
        tenant_id="tnt_1",
        answer=answer,
        request={},
        transfer=transfer,
        operator="ana",
        resolved=found.resolved,
        asked_at=at,
    )
    story.append(EntryKind.PREFLIGHT, msgspec.json.encode(record), at=at)


def land_wire(
    story: ShardStory, transfer_id: str, *, at: int = T0 + SECOND_US, amount: int = 10_000, **over: Any
) -> str | None:
    """Land a wire that says only this of its counterparty; the pre-flight it matched."""
    wire = {"id": transfer_id, "amount": amount, "created_at": bank.rfc3339(at)} | over
    matches = story.deliver(WIRE, wire, at=at).last(PreflightMatchRow)
    return matches[0].preflight_id if matches else None


ACCOUNT: Final[dict[str, Any]] = {"routing_number": "021000021", "account_last4": "5666"}
INLINE: Final[dict[str, Any]] = {
    "beneficiary_account_number": "000555666",
    "creditor_agent_routing_number": "021000021",
}


@pytest.mark.parametrize(
    ("question", "landing", "matches"),
    [
        ({"counterparty_id": "cpty_9"}, {"counterparty_id": "cpty_9"}, True),
        ({"counterparty_id": "cpty_9"}, {"counterparty_id": "cpty_8"}, False),
        ({"name": "Sam Cole"}, {"counterparty_id": "cpty_9", "beneficiary_name": "SAM  COLE"}, True),
        ({"name": "Sam Cole", **ACCOUNT}, {"beneficiary_name": "Sam Cole"}, True),
        ({"name": "Sam Cole", **ACCOUNT}, {"beneficiary_name": "S. Cole", **INLINE}, True),
        ({"name": "Sam Cole", "account_last4": "1111"}, {"beneficiary_name": "Sam Cole", **INLINE}, False),
        ({"name": "Sam Cole", **ACCOUNT}, {"beneficiary_name": "Somebody Else"}, False),
        ({}, {}, True),
        ({}, {"beneficiary_name": "Sam Cole"}, False),
    ],
)
def test_given_a_question_when_a_transfer_lands_then_it_matches_by_what_both_say_of_the_counterparty(
    question: dict[str, Any], landing: dict[str, Any], *, matches: bool
) -> None:
    story = ShardStory()
    record_preflight(story, "pf_1", **question)

    assert land_wire(story, "wire_1", **landing) == ("pf_1" if matches else None)


@pytest.mark.parametrize("question", [{"name": "Sam Cole"}, {"name": "Sam Cole", **ACCOUNT}])
def test_given_a_question_about_a_stranger_when_the_bank_adds_him_before_it_lands_then_it_matches(
    question: dict[str, Any],
) -> None:
    story = ShardStory()
    record_preflight(story, "pf_1", **question)
    story.deliver(COUNTERPARTY, bank.a_counterparty(id="cpty_9"))

    assert land_wire(story, "wire_1", counterparty_id="cpty_9") == "pf_1"


def test_given_a_question_that_named_one_on_file_when_it_lands_without_his_id_then_it_matches() -> None:
    story = ShardStory()
    story.deliver(COUNTERPARTY, bank.a_counterparty())
    record_preflight(story, "pf_1", name="Sam Cole")

    assert land_wire(story, "wire_1", beneficiary_name="Sam Cole", beneficiary_account_number="0009999") is None
    assert land_wire(story, "wire_2", beneficiary_name="Sam Cole", **INLINE) == "pf_1"


def test_given_three_questions_when_four_transfers_land_then_the_oldest_goes_first_and_each_only_once() -> None:
    story = ShardStory()
    for number in range(3):
        record_preflight(story, f"pf_{number}", at=T0 + number, name="Sam Cole", **ACCOUNT)
    story.state = ShardState.loaded(iter(list(story.state.dump())))

    matches = [land_wire(story, f"wire_{number}", beneficiary_name="Sam Cole", **INLINE) for number in range(4)]

    assert matches == ["pf_0", "pf_1", "pf_2", None]


@pytest.mark.parametrize(
    ("at", "matches"),
    [
        (T0 - 2 * SECOND_US, True),
        (T0 - 5 * SECOND_US, True),
        (T0 - 5 * SECOND_US - 1, False),
        (T0 + 24 * HOUR_US, True),
        (T0 + 24 * HOUR_US + MILLISECOND_US, False),
    ],
)
@pytest.mark.parametrize("asked", [T0, T0 + 1, T0 + 999])
def test_given_a_question_when_the_transfer_is_created_then_only_the_window_matches(
    asked: int, at: int, *, matches: bool
) -> None:
    story = ShardStory()
    record_preflight(story, "pf_1", at=asked, counterparty_id="cpty_9")

    assert (land_wire(story, "wire_1", at=at, counterparty_id="cpty_9") == "pf_1") is matches


def test_given_another_amount_when_it_lands_then_it_does_not_match() -> None:
    story = ShardStory()
    record_preflight(story, "pf_1", counterparty_id="cpty_9")

    assert land_wire(story, "wire_1", amount=10_001, counterparty_id="cpty_9") is None


def test_given_questions_that_nothing_can_match_any_more_when_time_passes_then_they_are_forgotten() -> None:
    story = ShardStory()
    record_preflight(story, "pf_1", name="Sam Cole", **ACCOUNT)
    record_preflight(story, "pf_2", at=T0 + 49 * HOUR_US, name="Other")

    assert [row[1] for row in story.program.preflights.dump()[0]] == ["pf_2"]


@pytest.mark.parametrize(
    ("asked", "landed", "is_match"),
    [("EUR", "EUR", True), ("EUR", "USD", False), ("USD", "EUR", False), ("USD", None, True)],
)
def test_given_the_same_figure_in_another_currency_then_it_is_another_amount(
    asked: str, landed: str | None, *, is_match: bool
) -> None:
    story = ShardStory()
    record_preflight(story, "pre_1", counterparty_id="cpty_1", currency=asked)

    matched = land_wire(story, "wire_1", counterparty_id="cpty_1", currency_code=landed)

    assert matched == ("pre_1" if is_match else None)
