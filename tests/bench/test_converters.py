"""The converters of transfers CSVs: every row once on each side that sees it, in order, with ids that repeat."""

import gzip
import itertools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from bench.convert import amlsim, banks, berka, personas, synthfin
from bench.convert.bank_rows import COLUMNS, EventFiles, Row

AMLSIM = [
    "t1,2020-01-01T00:00:00Z,A4,A8,1000,USD,ach,,,",
    "t2,2020-01-01T00:00:00Z,A4,A5,2000,USD,wire,,,",
    "t3,2020-01-02T00:00:00Z,A5,A4,3000,USD,book,,,",
    "t4,2020-01-02T00:00:00Z,A4,A6,0,USD,ach,,R10,2020-01-09T00:00:00Z",
    "t5,2020-01-03T00:00:00Z,A7,A4,5000,USD,realtime,,,",
]
BERKA = [
    "b1,1995-04-19T00:00:00Z,CASH,C1,20000,CZK,book,credit in cash,,",
    "b2,1995-04-19T00:00:00Z,C1,B:YZ:77,30000,CZK,ach,household,,",
    "b3,1995-04-20T00:00:00Z,C2,CARD,400,CZK,card,credit card withdrawal,,",
]

PERSONAS = [
    "f1,2025-01-01T08:18:00Z,X:7387120c2b,user_000036,50228,USD,ach,income,,",
    "f2,2025-01-01T08:28:00Z,user_000036,X:ec7433b516,46825,USD,card,transfer,,",
    "f3,2025-01-01T11:20:00Z,X:fbc0439e78,user_000051,77103,USD,card,shopping,,",
]
BANKS = [
    "k1,2025-01-01T00:00:00Z,b0:a,b1:a,1000,USD,realtime,,,",
    "k2,2025-01-01T00:00:00Z,b0:a,b0:c,2000,USD,realtime,,,",
    "k3,2025-01-02T00:00:00Z,X:shop,b1:d,3000,USD,realtime,,,",
    "k4,2025-01-02T00:00:00Z,b1:d,X:shop,4000,USD,card,,,",
]
SYNTHFIN = [
    "s1,2025-01-01T04:59:32Z,N2203,N2904,1507969,USD,realtime,,,",
    "s2,2025-01-01T05:15:53Z,N2904,N3703,718337,USD,realtime,,,",
]


def converted(
    convert: Callable[[Path, Path], EventFiles], folder: Path, rows: list[str]
) -> dict[str, list[dict[str, Any]]]:
    source = folder / "rows.csv.gz"
    source.write_bytes(gzip.compress("\n".join([",".join(COLUMNS), *rows, ""]).encode()))
    convert(source, folder / "out")
    return {
        path.stem: [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
        for path in sorted((folder / "out").glob("*.ndjson"))
    }


def transfers(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(e["type"], e["data"]["id"]) for e in events if not e["type"].startswith(("identity.", "account."))]


def test_given_amlsim_rows_when_converted_then_both_banks_see_a_transfer_between_them(tmp_path: Path) -> None:
    programs = converted(amlsim.convert, tmp_path, AMLSIM)

    assert list(programs) == ["amlsim-0", "amlsim-1", "amlsim-2", "amlsim-3"]
    assert transfers(programs["amlsim-0"]) == [
        ("ach.outgoing_transfer.initiated", "acht_t1"),
        ("wire.outgoing_transfer.initiated", "wire_t2"),
        ("wire.outgoing_transfer.completed", "wire_t2"),
        ("ach.outgoing_transfer.settled", "acht_t1"),
        ("ach.outgoing_transfer.initiated", "acht_t4"),
        ("ach.outgoing_transfer.settled", "acht_t4"),
        ("realtime.incoming_transfer.completed", "rttr_t5-in"),
        ("ach.outgoing_transfer.returned", "acht_t4"),
    ]
    assert transfers(programs["amlsim-1"]) == [
        ("wire.incoming_transfer.completed", "wire_t2-in"),
        ("book.transfer.hold_created", "book_t3"),
        ("book.transfer.completed", "book_t3"),
    ]


def test_given_amlsim_rows_when_converted_then_a_return_carries_its_code_and_time(tmp_path: Path) -> None:
    programs = converted(amlsim.convert, tmp_path, AMLSIM)

    returned = programs["amlsim-0"][-1]
    assert returned["created_at"] == "2020-01-09T00:00:00Z"
    assert returned["data"]["return_details"][0]["return_code"] == "R10"


@pytest.mark.parametrize(
    ("convert", "rows"),
    [
        (amlsim.convert, AMLSIM),
        (banks.convert, BANKS),
        (berka.convert, BERKA),
        (personas.convert, PERSONAS),
        (synthfin.convert, SYNTHFIN),
    ],
)
def test_given_rows_when_converted_then_owners_come_first_times_never_go_back_and_ids_never_repeat(
    tmp_path: Path, convert: Callable[[Path, Path], EventFiles], rows: list[str]
) -> None:
    for events in converted(convert, tmp_path, rows).values():
        times = [event["created_at"] for event in events]
        owned = {event["data"]["id"] for event in events if event["type"] == "account.created"}
        used = {
            data.get("sender_bank_account_id") or data.get("bank_account_id")
            for data in (event["data"] for event in events)
        }
        kinds = [event["type"].startswith(("identity.", "account.")) for event in events]
        assert times == sorted(times)
        assert len({event["id"] for event in events}) == len(events)
        assert used - {None} <= owned
        assert [known for known, _ in itertools.groupby(kinds)] in ([True, False], [True])


def test_given_rows_when_converted_twice_then_the_bytes_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "once").mkdir()
    (tmp_path / "again").mkdir()

    once = converted(amlsim.convert, tmp_path / "once", AMLSIM)
    again = converted(amlsim.convert, tmp_path / "again", AMLSIM)

    assert once == again


def test_given_berka_rows_when_converted_then_the_customer_is_the_account_and_the_way_is_seen_from_there(
    tmp_path: Path,
) -> None:
    events = converted(berka.convert, tmp_path, BERKA)["berka"]

    by_id = {event["data"]["id"]: event["data"] for event in events}
    assert by_id["book_b1"]["sender_bank_account_id"] == "bacc_C1"
    assert by_id["book_b1"]["receiver_bank_account_id"] == "bacc_CASH"
    assert by_id["book_b1"]["is_incoming"] is True
    assert by_id["acht_b2"]["counterparty_id"] == "cpty_B:YZ:77"
    assert by_id["acht_b2"]["currency_code"] == "CZK"
    assert by_id["ctxn_b3"]["merchant"]["id"] == "mrch_CARD"


def test_given_people_when_converted_then_money_is_seen_from_the_customer_and_the_type_hint_is_left_out(
    tmp_path: Path,
) -> None:
    events = converted(personas.convert, tmp_path, PERSONAS)["personas"]

    assert transfers(events) == [
        ("ach.incoming_transfer.scheduled", "acht_f1"),
        ("card.authorization.approved", "ctxn_f2"),
        ("card.transaction.refunded", "ctxn_f3"),
        ("ach.incoming_transfer.settled", "acht_f1"),
        ("card.transaction.settled", "ctxn_f2"),
    ]
    moved = [event["data"] for event in events if event["data"]["id"].startswith(("acht", "ctxn"))]
    assert {data["bank_account_id"] for data in moved} == {"bacc_user_000036", "bacc_user_000051"}
    assert {data["description"] for data in moved} == {""}


def test_given_agents_when_converted_then_both_ends_see_a_payment_when_it_is_made(tmp_path: Path) -> None:
    events = converted(synthfin.convert, tmp_path, SYNTHFIN)["synthfin"]

    landed = [
        (e["created_at"], e["data"]["id"], e["data"]["bank_account_id"]) for e in events if "rttr" in e["data"]["id"]
    ]
    assert landed == [
        ("2025-01-01T04:59:32Z", "rttr_s1", "bacc_N2203"),
        ("2025-01-01T04:59:32Z", "rttr_s1", "bacc_N2203"),
        ("2025-01-01T04:59:32Z", "rttr_s1-in", "bacc_N2904"),
        ("2025-01-01T05:15:53Z", "rttr_s2", "bacc_N2904"),
        ("2025-01-01T05:15:53Z", "rttr_s2", "bacc_N2904"),
        ("2025-01-01T05:15:53Z", "rttr_s2-in", "bacc_N3703"),
    ]


@pytest.mark.parametrize("module", [personas, berka])
def test_given_a_row_without_a_customer_when_converted_then_it_is_named(module: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="t1: neither A4 nor A8"):
        converted(module.convert, tmp_path, AMLSIM[:1])


@pytest.mark.parametrize(
    "rows", [[*AMLSIM, AMLSIM[0]], ["t1,2020-01-01T00:00:00Z,A1,A2,5,USD,pigeon,,,"], ["t1,2020-01-01T00:00:00Z"]]
)
def test_given_rows_that_are_none_or_out_of_order_when_converted_then_the_line_is_named(
    tmp_path: Path, rows: list[str]
) -> None:
    with pytest.raises(SystemExit, match="line"):
        converted(amlsim.convert, tmp_path, rows)


def test_given_rows_of_several_banks_when_converted_then_each_bank_sees_its_own_side_of_a_transfer(
    tmp_path: Path,
) -> None:
    programs = converted(banks.convert, tmp_path, BANKS)

    assert list(programs) == ["b0", "b1"]
    assert dict.fromkeys(each for _, each in transfers(programs["b0"])) == dict.fromkeys(("rttr_k1", "rttr_k2"))
    assert dict.fromkeys(each for _, each in transfers(programs["b1"])) == dict.fromkeys(
        ("rttr_k1-in", "rttr_k3", "ctxn_k4")
    )


@pytest.mark.parametrize(
    ("row", "sides"),
    [
        (BANKS[0], [("b0", "a", "a", False, ""), ("b1", "a", "a", True, "-in")]),
        (BANKS[1], [("b0", "a", "c", False, "")]),
        (BANKS[2], [("b1", "d", "shop", True, "")]),
        (BANKS[3], [("b1", "d", "shop", False, "")]),
    ],
)
def test_given_a_row_between_banks_then_its_sides_are_those_of_the_banks_that_see_it(
    row: str, sides: list[tuple[str, str, str, bool, str]]
) -> None:
    row_id, at, sender, receiver, cents, *rest = row.split(",")
    seen = banks.sides_of(Row(row_id, at, sender, receiver, int(cents), *rest))

    assert [(each.program, each.customer, each.other, each.incoming, each.suffix) for each in seen] == sides


@pytest.mark.parametrize("parties", ["X:shop,X:other", "a,b1:d", "b0:,b1:d"])
def test_given_a_row_without_a_bank_when_converted_then_it_is_named(tmp_path: Path, parties: str) -> None:
    with pytest.raises(SystemExit, match="k9: "):
        converted(banks.convert, tmp_path, [f"k9,2025-01-01T00:00:00Z,{parties},1000,USD,ach,,,"])
