"""The parts of the workspace: whatever the text, the text of the page equals it; and figures stay where they belong."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clearhold.api.console.components.comparison import SentenceFate, compared, comparison
from clearhold.api.console.components.money_flow import MOST_NODES, edges_of, money_flow
from clearhold.api.console.components.usual import usual
from clearhold.api.console.components.why import why
from clearhold.api.console.components.words import marked
from clearhold.api.explain.service import TransferExplained
from clearhold.api.transfers.service import ScoringCard, TransferSummary
from clearhold.features.core.instants import written_instant
from clearhold.features.core.vocabulary import Band, Reason
from clearhold.features.measurement.explanation import TO_A_PERSON, FamilyExplained, LowerBand, ReasonNegated, ScoreOnce
from tests.support.dom import DomPage

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cf")), max_size=80)
AT = "2026-03-02T15:04:05.000Z"


def transfer(number: int = 1, **over: Any) -> TransferSummary:
    fields: dict[str, Any] = {
        "id": f"acht_{number}",
        "tenant_id": "t",
        "program_id": "p",
        "rail": "ach",
        "direction": "outgoing",
        "type": "CREDIT",
        "amount_cents": "10000",
        "currency": "USD",
        "status": "COMPLETED",
        "bank_created_at": AT,
        "updated_at": AT,
        "counterparty_id": f"cpty_{number}",
        "alert_ids": (),
    }
    missing: dict[str, Any] = dict.fromkeys(
        name for name in TransferSummary.__struct_fields__ if name not in {*fields, "simulated"}
    )
    return TransferSummary(**missing | fields | over)


def reason(number: int, weight: int, *, hard: bool = False, sentence: str = "It is so.") -> Reason:
    return Reason(id=f"TRS-X-{number:02d}", signal="signal", weight=weight, hard=hard, sentence=sentence)


def family(name: str, reasons: Sequence[Reason], *, counts: int, taken: Sequence[Reason] = ()) -> FamilyExplained:
    points = sum(each.weight for each in reasons)
    return FamilyExplained(
        family=name, points=points, cap=40, counts=counts, reasons=tuple(reasons), taken=tuple(taken)
    )


def explained(families: Sequence[FamilyExplained], **over: Any) -> TransferExplained:
    total = sum(each.counts for each in families)
    hard = tuple(each for row in families for each in row.reasons if each.hard)
    once = ScoreOnce(score=min(total, 100), band=Band.HOLD, n=10, confidence=0.33, version="trs-v1")
    fields: dict[str, Any] = {
        "score": min(total, 100),
        "band": Band.HOLD,
        "families": tuple(families),
        "taken": (),
        "total": total,
        "hard_reasons": hard,
        "goes_to_person": TO_A_PERSON if hard else None,
        "would_be_lower": (),
        "is_exact": True,
        "feature_version": "features-v7",
        "stored": once,
        "recomputed": once,
        "is_same": True,
        "difference": None,
        "degraded": False,
        "unmeasured": (),
        "nearest_amount": None,
        "transfer_id": "acht_1",
        "program_id": "p",
        "card": ScoringCard(version="trs-v1", sha256=None),
    }
    return TransferExplained(**fields | over)


@given(TEXTS)
def test_given_any_name_of_a_party_when_drawn_then_title_and_table_have_it_as_it_is(name: str) -> None:
    page = DomPage(money_flow("Ada", [transfer()], {"cpty_1": name}, path=(), held_ids=()))

    party = marked(name or "cpty_1")
    assert party in [each.text for each in page.all("bdi")]
    assert f"paid to {party} in 1 transfer" in page.one("desc").text


@given(TEXTS, TEXTS)
def test_given_any_two_texts_when_compared_then_each_side_has_its_sentences_word_by_word(
    draft: str, narrative: str
) -> None:
    pairs = compared(draft, narrative)
    page = DomPage(comparison(draft, narrative))

    texts = [each.text for each in page.all("bdi")]
    assert texts == [marked(text) for each in pairs for text in (each.draft, each.narrative) if text is not None]


def test_given_a_changed_a_dropped_and_a_new_sentence_when_compared_then_each_is_marked() -> None:
    pairs = compared("One stays. Two goes out. Three is here.", "One stays. Two came back. Three is here. Four is new.")

    fates = [each.fate for each in pairs]
    assert fates == [SentenceFate.KEPT, SentenceFate.CHANGED, SentenceFate.KEPT, SentenceFate.ADDED]
    assert [each.fate for each in compared("One. Two.", "One.")] == [SentenceFate.KEPT, SentenceFate.DROPPED]
    words = DomPage(comparison("Two goes out.", "Two came back.")).all("mark")
    assert [each.text for each in words] == ["came back."]


@given(TEXTS.filter(bool))
def test_given_any_sentence_of_a_reason_when_explained_then_the_page_has_it(sentence: str) -> None:
    page = DomPage(why(explained([family("amount", [reason(1, 20, sentence=sentence)], counts=20)]), "", ()))

    assert marked(sentence) in page.one("ol", class_="families").text


def test_given_families_when_explained_then_the_hard_one_is_first_the_others_by_points_and_five_are_open() -> None:
    soft = [family(f"family{n}", [reason(n, n)], counts=n) for n in range(10, 70, 10)]
    hard = family("geography", [reason(1, 5, hard=True)], counts=5)

    page = DomPage(why(explained([*soft, hard]), "", ()))

    names = [each.text for each in page.all("span", class_="family")]
    assert names == ["Geography", *(f"Family{n}" for n in range(60, 0, -10))]
    of_families = [each for each in page.all("details") if "class" not in each.attributes]
    assert [("open" in each.attributes) for each in of_families] == [True] * 5 + [False] * 2
    assert page.all("ul", class_="first")[0].text.startswith("+5hard")


def test_given_caps_and_missing_inputs_when_explained_then_their_points_and_names_are_said() -> None:
    cap, over = reason(90, -31), reason(91, -46)
    capped = family("relationship", [reason(1, 71)], counts=40, taken=[cap])

    page = DomPage(why(explained([capped], taken=(over,), unmeasured=("rail", "moved"), degraded=True), "", ()))

    texts = [each.text for each in page.all("summary")]
    assert "2 deductions take -77 points" in texts
    assert "2 inputs were not measured (the confidence is halved)" in texts
    assert "71 points, 40 count, at most 40" in texts[0]
    bar = {each.attributes["class"]: each.attributes["width"] for each in page.all("rect")}
    assert (bar["all"], bar["counts"]) == ("100.0", "56.3")


def test_given_a_set_that_lowers_the_band_when_explained_then_band_points_and_clauses_are_said() -> None:
    parts = tuple(
        ReasonNegated(id=f"TRS-X-0{n}", signal="s", negated=f"clause {n}", can_be_otherwise=n == 1) for n in (1, 2)
    )
    lower = LowerBand(reasons=parts, score=60, band=Band.REVIEW, sentence="")

    cleared = DomPage(why(explained([family("amount", [reason(1, 90)], counts=90)], would_be_lower=(lower,)), "", ()))

    text = cleared.one("div", id="cleared").text
    assert "Review (60) if clause 1, and if clause 2." in text
    assert "cannot be otherwise" in text
    assert "Recomputed from the stored inputs: 90, the same." in text


def test_given_transfers_when_drawn_then_edges_are_in_order_of_time_as_thick_as_money_and_the_path_is_marked() -> None:
    late = transfer(1, bank_created_at="2026-03-02T16:00:00.000Z", amount_cents="20000")
    back = transfer(2, direction="incoming", amount_cents="5000", returned_at=AT)
    twice = [transfer(3, id="a"), transfer(3, id="b")]

    edges = edges_of([late, back, *twice], {}, {"acht_2"}, {"a"})

    assert [(each.name, each.cents, each.transfers) for each in edges] == [
        ("cpty_2", 5_000, 1),
        ("cpty_3", 20_000, 2),
        ("cpty_1", 20_000, 1),
    ]
    assert [each.is_path for each in edges] == [True, False, False]
    assert [each.state for each in edges] == ["returned", "held, completed", "completed"]
    page = DomPage(money_flow("Ada", [late, back, *twice], {}, path={"acht_2"}, held_ids={"a"}))
    widths = [each.attributes["stroke-width"] for each in page.all("path") if "stroke-width" in each.attributes]
    assert widths == ["3.0", "12.0", "12.0"]
    assert len(page.all("g", class_="path")) == 1


def test_given_more_parties_than_the_drawing_takes_when_drawn_then_the_rest_is_in_the_table() -> None:
    transfers = [transfer(n) for n in range(MOST_NODES + 3)]

    page = DomPage(money_flow("Ada", transfers, {}, path=(), held_ids=()))

    assert len(page.all("g", class_="edge")) == MOST_NODES
    assert "3 further parties" in page.one("p", class_="small").text
    assert len(page.all("tr")) == MOST_NODES + 3 + 1


def test_given_amounts_when_their_usual_is_drawn_then_own_ones_are_marked_and_words_name_the_lines() -> None:
    now = written_instant("2026-03-03T00:00:00.000Z")
    features = {"entity.medianCents90d": 5_000, "program.p95Cents": None, "velocity24hCount": 2}

    page = DomPage(usual([transfer(1, amount_cents="1"), transfer(2)], {"acht_1"}, features, now=now))

    assert len(page.all("circle", class_="own")) == len(page.all("circle", class_="other")) == 1
    assert "2 transfers of the last 90 days" in page.one("desc").text
    assert "The median of the entity is USD 50.00." in page.one("desc").text
    assert "95th" not in page.one("desc").text
    assert "not measured" in page.one("dl").text


def test_given_no_transfer_of_ninety_days_when_their_usual_is_asked_for_then_nothing_is_drawn() -> None:
    assert usual([transfer()], (), {}, now=written_instant("2026-12-01T00:00:00.000Z")) is None
