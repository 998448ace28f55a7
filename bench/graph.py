"""How long does the graph around a party take, when it has 10,000 counterparties or two?

The rows of transfers are written into a table that has them all in one program: half of them are of one entity with a
counterparty each time, of 10,000; the others are of 5,000 entities. Each transfer has two versions. Three quarters of
the transfers are older than the window of 90 days. The reads are those of ``MoneyGraph``, in this process, with its
processor time.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from bench.harness import Figure, Run
from bench.workbench import PREFIX
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.principal import Principal, PrincipalKind
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import CounterpartyRow
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.duck.money_graph import EdgeQuery, Marks, MoneyGraph, MoneyNode
from clearhold.store.tables import Span, row_tables

TRANSFERS: Final = 100_000
HUB: Final = "enti_hub"
_COUNTERPARTIES: Final = 10_000
_ENTITIES: Final = 5_000
_DAYS: Final = 90
_OLDER: Final = 4
_BATCH: Final = 10_000
_READS: Final = 10
_MOST: Final = 200
_NEAR: Final = 100
_SHARD: Final = 0
_PROGRAM: Final = "00000000-0000-4000-8000-000000000002"
_CALLER: Final = Principal(kind=PrincipalKind.OPERATOR, id="", tenant_id="tenant", tenant="first-bank")


def run(run: Run) -> Iterator[Figure]:
    transfers = run.size(TRANSFERS, 10_000)
    with TemporaryDirectory(prefix=PREFIX) as folder, closing(open_database(Path(folder) / "graph.duckdb")) as database:
        now = time.time_ns() // 1_000
        run.say(f"writing {_OLDER * transfers:,} transfers, {transfers:,} of them in {_DAYS} days")
        _write(BatchWriter(database), transfers, now)
        graph = MoneyGraph(database)
        note = f"{transfers:,} transfers in {_DAYS} days of {_OLDER * transfers:,}, {_COUNTERPARTIES:,} counterparties"
        for name, read in _reads(graph, now).items():
            began = time.process_time()
            for _ in range(_READS):
                read()
            yield Figure(
                name=f"{name}, processor time",
                value=1e3 * (time.process_time() - began) / _READS,
                unit="ms",
                note=note,
            )


def _reads(graph: MoneyGraph, now: int) -> dict[str, Callable[[], object]]:
    span = Span(now - _DAYS * DAY_US, now + 1)
    around_hub = EdgeQuery(_PROGRAM, span, (MoneyNode("entity", HUB),), Marks())
    one = around_hub._replace(nodes=(MoneyNode("entity", "enti_7"),))
    outer = graph.edges(_CALLER, around_hub, _NEAR).edges
    behind = around_hub._replace(nodes=[edge.target for edge in outer], without=around_hub.nodes)
    nodes = [edge.target for edge in outer]
    return {
        "newest transfer": lambda: graph.newest_at(_CALLER, _PROGRAM),
        "edges of a hub": lambda: graph.edges(_CALLER, around_hub, _MOST),
        "edges of a small party": lambda: graph.edges(_CALLER, one, _MOST),
        "edges of 100 parties around the hub": lambda: graph.edges(_CALLER, behind, _MOST),
        "names of 100 parties": lambda: graph.facts(_CALLER, _PROGRAM, nodes),
    }


def _write(writer: BatchWriter, transfers: int, now: int) -> None:
    random, every = Random(1), _OLDER * transfers
    for first in range(0, every, _BATCH):
        numbers = range(first, min(every, first + _BATCH))
        rows = [
            transfer_row(random, number, every, now, status) for status in ("PENDING", "SETTLED") for number in numbers
        ]
        writer.commit(row_tables({TransferRow: rows}), {}, now)
    writer.commit(
        row_tables({CounterpartyRow: [_counterparty(number, now) for number in range(_COUNTERPARTIES)]}), {}, now
    )


def transfer_id_of(number: int) -> str:
    return f"acht_2zExampleOfATransfer{number:08}"


def transfer_row(random: Random, number: int, every: int, now: int, status: str) -> TransferRow:
    created_at = now - (every - 1 - number) * _OLDER * _DAYS * DAY_US // every
    of_hub = number % 2 == 0
    later = status == "SETTLED"
    return TransferRow(
        "tenant",
        _PROGRAM,
        transfer_id_of(number),
        _SHARD,
        2 * number + later + 1,
        rail="ach",
        direction="outgoing",
        type="CREDIT",
        amount_cents=random.randrange(1, 1_000_000),
        currency="USD",
        status=status,
        entity_id=HUB if of_hub else f"enti_{number % _ENTITIES}",
        account_id="bacc_hub" if of_hub else f"bacc_{number % _ENTITIES}",
        counterparty_id=f"cpty_{number // 2 % _COUNTERPARTIES}",
        counterparty_country="US",
        sec_code="PPD",
        return_code=None,
        returned_at=None,
        effective_at=None,
        bank_created_at=created_at,
        card_decision_reason=None,
        score=10,
        score_band="clear",
        score_version="trs-v1",
        score_n=100,
        score_confidence=0.9,
        scored_at=created_at,
        scored_offset=2 * number + 1,
        raw_offset=2 * number + later + 1,
        updated_at=created_at,
        number=number,
        usd_rate=None,
        usd_rate_day=None,
        usd_rate_version=None,
    )


def _counterparty(number: int, now: int) -> CounterpartyRow:
    return CounterpartyRow(
        "tenant",
        _PROGRAM,
        f"cpty_{number}",
        _SHARD,
        number + 1,
        name=f"Counterparty {number}",
        routing_number="021000021",
        account_last4="7899",
        country_code="US",
        raw=None,
        first_seen_at=now,
        updated_at=now,
        earlier_accounts=None,
    )
