"""What counts as caught, as missed and as everyday, over readings of the service that a test makes up."""

import io
from typing import Any

from rich.console import Console

from clearhold.demo.ledger import Ledger, Telling
from clearhold.demo.results import Readings, Results, results_of
from clearhold.demo.results_table import PLAIN_WIDTH, results_parts


def a_transfer(name: str, *, day: int = 40, band: str = "clear") -> dict[str, Any]:
    month, date = divmod(day, 28)
    return {"id": name, "bankCreatedAt": f"2026-0{1 + month}-{1 + date:02d}T10:00:00.000Z", "scoreBand": band}


def an_alert(detector: str, *transfer_ids: str, day: int = 40, **fields: Any) -> dict[str, Any]:
    evidence = {"transferIds": list(transfer_ids), "firstAt": a_transfer("", day=day)["bankCreatedAt"]}
    alert = {"detector": detector, "route": "reviewed", "subjectType": "entity", "transferId": None}
    rests_on = fields.pop("rests_on", [])
    return {**alert, "evidence": {**evidence, "restsOn": rests_on}, **fields}


def results_with(*alerts: dict[str, Any], transfers: tuple[dict[str, Any], ...] = ()) -> Results:
    ledger = Ledger()
    ledger.tellings["t1"] = Telling(
        story="round trip",
        program="payroll",
        live=True,
        transfer_ids={"book_1", "book_2"},
        complete=True,
        answers=["hold"],
    )
    ledger.tellings["t2"] = Telling(
        story="round trip", program="payroll", live=True, transfer_ids={"book_3"}, complete=True
    )
    ledger.tellings["t3"] = Telling(story="round trip", program="payroll", live=True, transfer_ids={"book_4"})
    ledger.tellings["t4"] = Telling(story="velocity burst", program="remittance", live=True)

    planted = tuple(a_transfer(name, band="hold") for name in ("book_1", "book_2", "book_3", "book_4"))
    oldest = a_transfer("wire_0", day=0)
    return results_of({"payroll": Readings(transfers=(oldest, *planted, *transfers), alerts=alerts)}, ledger)


def printed(results: Results) -> str:
    console = Console(width=PLAIN_WIDTH, file=io.StringIO())
    for part in results_parts(results):
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_given_an_alert_of_a_storys_own_detector_when_counted_then_that_telling_is_caught_and_the_other_missed() -> (
    None
):
    (story,) = results_with(an_alert("round_trip", "book_2"), an_alert("fan_out", "book_3")).stories

    assert (story.planted, story.caught, story.asked, story.held) == (2, 1, 1, 1)
    assert [telling.transfer_ids for telling in story.missed] == [{"book_3"}]
    assert story.detectors == (("round_trip", 1), ("fan_out", 1))


def test_given_a_missed_telling_when_printed_then_it_says_which_and_names_what_was_not_told() -> None:
    text = printed(results_with(an_alert("round_trip", "book_2")))

    assert "1 of 2 planted scenarios caught." in text
    assert "Missed: round trip, 1 of 2; first transfers book_3" in text
    assert "Under way when the bank stopped, and not counted: 2." in text
    assert "Not planted in this run: structuring under $10,000, " in text


def test_given_everything_caught_when_printed_then_nothing_is_called_missed() -> None:
    text = printed(results_with(an_alert("round_trip", "book_2", rests_on=["book_3"])))

    assert "2 of 2 planted scenarios caught." in text
    assert "Missed:" not in text


def test_given_everyday_transfers_when_counted_then_it_is_after_30_days_and_by_alerts_a_person_has() -> None:
    results = results_with(
        an_alert("fan_out", "wire_9"),
        an_alert("velocity_spike", "wire_9", route="automated"),
        an_alert("fan_out", "wire_0", day=0),
        an_alert("rapid_in_out", "wire_9", rests_on=["book_1"]),
        an_alert("program_velocity", "wire_9", subjectType="program", rests_on=["book_1"]),
        transfers=(a_transfer("wire_9", band="hold"), a_transfer("wire_8", band="review")),
    )
    (everyday,) = results.everyday

    assert (everyday.transfers, everyday.in_review, everyday.in_hold) == (2, 1, 1)
    assert everyday.detectors == (("fan_out", 1), ("program_velocity", 1))
    assert everyday.alerts_per_1_000 == 1_000


def test_given_less_than_30_days_when_counted_then_there_is_no_rate() -> None:
    readings = {"payroll": Readings(transfers=(a_transfer("wire_0", day=0),), alerts=())}
    results = results_of(readings, Ledger())

    assert results.everyday[0].alerts_per_1_000 is None
    assert "none yet" in printed(results)
