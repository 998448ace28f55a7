"""A counterparty id with an account that no earlier wire had is a changed account."""

from random import Random

from clearhold.features.catalogue.vector import TransferFeaturesRow, values_by_name
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.shard.shard import ShardState
from tests.oracle.effort import STREAMS
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.oracle_agreement import rows_of

WIRES = 40
ACCOUNTS = (("021000021", "000123454321"), ("021000021", "000999888777"), ("111000025", "0000-1234-5432-1"))
REFUSED = "REJECTED"


def numbers_of(account: tuple[str, str]) -> tuple[str, str]:
    """Routing number and last four of the number."""
    return account[0], account[1].replace("-", "")[-4:]


def test_given_wires_by_id_when_each_is_scored_then_its_account_is_changed_where_no_wire_before_had_it() -> None:
    found: dict[int, list[str]] = {}
    for seed in range(STREAMS):
        chance, state, at, lines = Random(seed), ShardState(0), T0, []
        before: dict[str, set[tuple[str, str]]] = {}
        for number in range(WIRES):
            at += chance.choice((HOUR_US, DAY_US, 40 * DAY_US))
            party, account = f"cpty_{chance.randint(1, 3)}", chance.choices(ACCOUNTS, (6, 1, 1))[0]
            status = REFUSED if chance.random() < 0.1 else "COMPLETED"
            data = bank.a_wire(
                id=f"wire_{number}",
                amount=12_500,
                status=status,
                counterparty_id=party,
                beneficiary_name=f"Party {party[-1]}",
                beneficiary_account_number=account[1],
                creditor_agent_routing_number=account[0],
                created_at=bank.rfc3339(at),
                updated_at=bank.rfc3339(at),
            )
            kind = f"wire.outgoing_transfer.{status.lower()}"
            rows = rows_of(state, [bank.a_bank_entry(kind, data, offset=(number + 1) << 20, created_at=at)])
            (vector,) = (row.vector for row in rows if isinstance(row, TransferFeaturesRow))
            known = before.setdefault(party, set())
            wanted = bool(known) and numbers_of(account) not in known
            if (got := values_by_name(vector)["counterparty.accountChanged"]) is not wanted:
                lines.append(f"wire_{number} {status} to {numbers_of(account)}, known {known}: {got} is not {wanted}")
            if status != REFUSED:
                known.add(numbers_of(account))
        if lines:
            found[seed] = lines

    assert not found, f"{len(found)} streams differ, the first: {next(iter(found.items()))}"
