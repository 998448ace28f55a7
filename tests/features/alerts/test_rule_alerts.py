"""Rules of the bank in the stream: what they open, what they only count, and what they never change."""

from typing import Any, Final

import msgspec
import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.rows.alerts import AlertRow, DispositionRow, PolicyRow, RuleMatchRow
from clearhold.features.core.rows.events import QuarantineRow, TransferRow
from clearhold.features.core.rules import Rule, rule_hash
from clearhold.features.shard.shard import ShardState
from tests.checks.detector_cases_of_programs import hold_after_a_decision, score_of_two_strangers
from tests.features.alerts.test_narrative import check, draft_of
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision, evidence_of
from tests.support.clock import T0
from tests.support.programs import NOON, warmed_program
from tests.support.rules import INTEGERS, MONEY, a_condition
from tests.support.rules_in_force import a_testing_rule, an_active_rule, rules_in_force
from tests.support.stories import PROGRAM, ShardStory, detector_story

BIG: Final = "rule:big-wires"
QUARANTINED: Final = "must be a field of GET /api/rules/fields"


def with_rules(*rules: Rule, **declared: Any) -> ShardStory:
    story = detector_story(**declared).introduce("enti_1")
    rules_in_force(story, *rules)
    return story


def matches(story: ShardStory) -> list[tuple[str, str, str]]:
    """Rule, mode and transfer of every match that is counted."""
    return [(row.rule_id, row.mode, row.transfer_id) for row in story.all(RuleMatchRow)]


def opened(story: ShardStory, rule_id: str) -> list[str | None]:
    """The transfers that a rule's alerts were opened on."""
    return [alert.transfer_id for alert in story.alerts(f"rule:{rule_id}")]


def test_given_an_active_rule_when_a_transfer_meets_it_then_a_person_has_an_alert_that_says_why() -> None:
    rule = an_active_rule(severity="high")
    story = with_rules(rule)

    story.wire("enti_1", "cpty_1", 5_000_00, HOUR)
    story.wire("enti_1", "cpty_1", 5_000_01, 2 * HOUR)

    alert = story.alert(BIG)
    assert (alert.route, alert.status, alert.severity, alert.sla_tier) == ("reviewed", "open", "high", "complex")
    assert (alert.subject_type, alert.subject_id, alert.transfer_id) == ("transfer", "trf_2", "trf_2")
    evidence = evidence_of(alert)
    assert evidence["routeReason"] == "rule"
    assert evidence["rule"] == {
        "ruleId": "big-wires",
        "sha256": rule_hash(rule),
        "version": "rules-v1",
        "action": "alert",
        "conditions": [
            {"field": "rail", "op": "eq", "value": "wire", "observed": "wire"},
            {"field": "amountCents", "op": "gt", "value": 5_000_00, "observed": "500001"},
        ],
    }
    assert not story.all(RuleMatchRow), "the alert is the match"


def test_given_rules_that_log_or_are_in_testing_then_their_matches_are_rows_and_no_alert() -> None:
    counts = an_active_rule("counts", action="log")
    story = with_rules(counts)
    rules_in_force(story, a_testing_rule("tries", action="hold"), version="shadow-v1")

    story.wire("enti_1", "cpty_1", 6_000_00, HOUR)

    assert not story.all(AlertRow)
    assert matches(story) == [("counts", "log", "trf_1"), ("tries", "shadow", "trf_1")]
    match = story.all(RuleMatchRow)[0]
    assert (match.version, match.rule_sha256, match.band) == ("rules-v1", rule_hash(counts), "unscored")
    assert (match.bank_created_at, match.matched_at) == (T0 + HOUR, T0 + HOUR)


@pytest.mark.parametrize("version", ["shadow", "rules"])
def test_given_a_rule_that_is_counted_when_its_text_changes_then_a_transfer_that_comes_again_is_counted_anew(
    version: str,
) -> None:
    story = detector_story().introduce("enti_1")
    over = {"action": "log"} if version == "rules" else {}
    texts = [an_active_rule("debits", a_condition("type", "eq", "DEBIT"), **over, name=name) for name in "AB"]
    rules_in_force(story, texts[0], version=f"{version}-v1")
    debit = story.debit("enti_1", "cpty_1", 100_00, HOUR)

    for number, rules in ((2, [texts[0], an_active_rule("other", **over)]), (3, [texts[1]]), (4, []), (5, [texts[1]])):
        rules_in_force(story, *rules, version=f"{version}-v{number}", at=number * HOUR)
        change = {"amount": number * 100_00, "updated_at": bank.rfc3339(T0 + number * HOUR)}
        story.deliver("ach.outgoing_transfer.updated", debit | change, at=T0 + number * HOUR)

    assert [(row.version, row.rule_sha256) for row in story.all(RuleMatchRow)] == [
        (f"{version}-v{number}", rule_hash(text)) for number, text in ((1, texts[0]), (3, texts[1]), (5, texts[1]))
    ]


def test_given_versions_of_rules_then_those_that_records_cite_are_rows_and_shadows_and_other_policies_are_not() -> None:
    story = with_rules()
    story.wire("enti_1", "cpty_1", 6_000_00, HOUR)

    rules_in_force(story, a_testing_rule(), version="shadow-v1", at=2 * HOUR)
    assert not story.last_rows
    rules_in_force(story, an_active_rule(), version="rules-v2", at=3 * HOUR)

    assert [row.version for row in story.last(PolicyRow)] == ["rules-v2"]


def test_given_rules_then_scores_reasons_vectors_and_all_other_alerts_are_as_without_them() -> None:
    everything = an_active_rule("all", a_condition("rail", "not_null"), action="hold", severity="high")
    with_them, without = warmed_program(), warmed_program()
    rules_in_force(with_them, everything, at=NOON)
    rules_in_force(with_them, everything, version="shadow-v1", at=NOON)

    for story in (with_them, without):
        for place in range(6):
            story.wire("enti_1", "cpty_1", 250_00, NOON + place * HOUR)

    def scored(story: ShardStory) -> list[Any]:
        inputs = [(row.transfer_id, row.score, row.reasons, row.vector) for row in story.all(TransferFeaturesRow)]
        return [(row.id, row.score, row.score_band, row.score_confidence) for row in story.all(TransferRow)] + inputs

    assert scored(with_them) == scored(without)
    assert [a.status for a in with_them.alerts("repeated_amount")] == ["auto_closed"]
    assert [a.draft for a in with_them.alerts("repeated_amount")] == [
        a.draft for a in without.alerts("repeated_amount")
    ]
    assert {alert.status for alert in with_them.alerts("rule:all")} == {"open"}
    assert not [
        row for row in with_them.all(DispositionRow) if row.alert_id in {a.id for a in with_them.alerts("rule:all")}
    ]
    assert "rule:all" not in with_them.program.closing_evidence.tallies
    day = (T0 + NOON) // DAY
    unseen = [
        story.program.day_tallies.totals(day, day + 1, is_scored=False).unalerted for story in (with_them, without)
    ]
    assert unseen == [0, 4]


@pytest.mark.parametrize("decision", [None, "close", "hold", "escalate"])
def test_given_a_transfer_that_changes_and_comes_back_then_a_rule_has_one_alert_on_it(decision: str | None) -> None:
    story = with_rules(an_active_rule("debits", a_condition("type", "eq", "DEBIT")))
    debit = story.debit("enti_1", "cpty_1", 100_00, HOUR)
    if decision is not None:
        story.submit(a_decision(story.alert("rule:debits"), decision, 2 * HOUR))
    worse = an_active_rule("debits", a_condition("type", "eq", "DEBIT"), severity="high")
    rules_in_force(story, worse, version="rules-v2", at=2 * HOUR)

    story.deliver(
        "ach.outgoing_transfer.updated",
        debit | {"amount": 900_00, "updated_at": bank.rfc3339(T0 + 3 * HOUR)},
        at=T0 + 3 * HOUR,
    )
    story.return_debit(debit | {"amount": 900_00}, "R10", DAY)

    assert story.alert("rule:debits").severity == ("medium" if decision == "close" else "high")
    assert opened(story, "debits") == [debit["id"]]


def test_given_a_change_of_the_bank_that_a_rule_meets_first_then_the_alert_opens_at_the_change() -> None:
    story = with_rules(an_active_rule("large", a_condition("amountCents", "gte", 900_00)))
    debit = story.debit("enti_1", "cpty_1", 100_00, HOUR)
    assert not opened(story, "large")

    for hour, cents in ((3, 900_00), (4, 100_00), (5, 950_00)):
        change = {"amount": cents, "updated_at": bank.rfc3339(T0 + hour * HOUR)}
        story.deliver("ach.outgoing_transfer.updated", debit | change, at=T0 + hour * HOUR)

    alert = story.alert("rule:large")
    assert (alert.opened_at, evidence_of(alert)["rule"]["conditions"][0]["observed"]) == (T0 + 3 * HOUR, "90000")
    assert opened(story, "large") == [debit["id"]]


def test_given_versions_that_change_then_each_entry_is_held_against_the_one_that_the_log_brought_before_it() -> None:
    story = with_rules()
    story.wire("enti_1", "cpty_1", 6_000_00, HOUR)
    rules_in_force(story, an_active_rule(), version="rules-v2", at=2 * HOUR)
    late = bank.a_wire(id="trf_late", entity_id="enti_1", amount=7_000_00, created_at=bank.rfc3339(T0 + HOUR))
    story.deliver("wire.outgoing_transfer.completed", late, at=T0 + HOUR, appended_at=T0 + 3 * HOUR)
    rules_in_force(story, version="rules-v3", at=4 * HOUR)
    story.wire("enti_1", "cpty_1", 8_000_00, 5 * HOUR)

    alert = story.alert(BIG)
    assert (alert.transfer_id, alert.opened_at) == ("trf_late", T0 + 3 * HOUR)
    assert evidence_of(alert)["rule"]["version"] == "rules-v2"


def test_given_rules_of_another_program_or_about_others_than_transfers_then_nothing_fires() -> None:
    story = with_rules(
        an_active_rule("other", programId="prg_2"),
        an_active_rule("own", programId=PROGRAM),
        an_active_rule("entities", scope="entity"),
    )

    story.wire("enti_1", "cpty_1", 6_000_00, HOUR)

    assert [alert.detector for alert in story.all(AlertRow)] == ["rule:own"]


def test_given_a_version_with_a_rule_that_cannot_be_evaluated_then_it_is_set_aside_and_the_one_before_it_stays() -> (
    None
):
    story = with_rules(an_active_rule())

    rules_in_force(story, an_active_rule("bad", a_condition("shoeSize", "gt", 40)), version="rules-v2", at=HOUR)
    (row,) = story.last(QuarantineRow)
    story.wire("enti_1", "cpty_1", 6_000_00, 2 * HOUR)

    assert QUARANTINED in row.error
    assert evidence_of(story.alert(BIG))["rule"]["version"] == "rules-v1"


ANY: Final = a_condition("rail", "not_null")


def test_given_a_transfer_in_the_hold_band_then_the_rules_alert_is_held_as_any_other() -> None:
    story = with_rules(an_active_rule("any", ANY, severity="low"))

    hold_after_a_decision(story, hit=True)

    alert = story.alerts("rule:any")[-1]
    assert (story.scoring.band, alert.status, evidence_of(alert)["autoHold"]) == ("hold", "held", True)
    assert not story.alerts("band_hold")


@pytest.mark.parametrize(("version", "opened"), [("rules-v1", ["rule:any"]), ("shadow-v1", ["band_review"])])
def test_given_a_transfer_in_review_then_a_rules_alert_is_its_alert_and_a_rule_in_testing_is_none(
    version: str, opened: list[str]
) -> None:
    story = detector_story()
    rules_in_force(story, an_active_rule("any", ANY, a_condition("amountCents", "eq", 90_00)), version=version)

    score_of_two_strangers(story, hit=True)

    assert story.scoring.band == "review"
    assert [alert.detector for alert in story.last(AlertRow)] == opened
    assert len(matches(story)) == (version == "shadow-v1")


def test_given_scores_that_are_given_again_then_no_rule_opens_or_counts_anything() -> None:
    story = detector_story().introduce("enti_1")
    story.wire("enti_1", "cpty_1", 6_000_00, HOUR)
    rules_in_force(story, an_active_rule(), an_active_rule("counts", action="log"), at=2 * HOUR)

    rows = story.rescore_actors()

    assert rows
    assert not matches(story)
    assert not story.all(AlertRow)


def test_given_rules_that_come_and_go_when_the_log_is_replayed_over_dumps_then_rows_and_state_are_the_same() -> None:
    story = with_rules(an_active_rule(), an_active_rule("debits", a_condition("type", "eq", "DEBIT"), action="log"))
    debit = story.debit("enti_1", "cpty_1", 100_00, HOUR)
    rules_in_force(story, a_testing_rule("tries", a_condition("rail", "in", ("ach", "wire"))), version="shadow-v1")
    story.wire("enti_1", "cpty_1", 6_000_00, 2 * HOUR)
    story.return_debit(debit, "R10", 3 * HOUR)
    rules_in_force(story, an_active_rule(severity="high"), version="rules-v2", at=4 * HOUR)
    story.wire("enti_1", "cpty_1", 6_000_00, 5 * HOUR)
    state, rows = ShardState(0), list[msgspec.Struct]()

    for entry in story.entries:
        state.apply(entry, rows.append)
        state = ShardState.loaded(iter(list(state.dump())))

    assert [row[:2] for row in matches(story)] == [
        ("debits", "log"),
        ("tries", "shadow"),
        ("tries", "shadow"),
        ("tries", "shadow"),
    ]
    assert len(opened(story, "big-wires")) == 2
    assert rows == story.rows
    assert list(state.dump()) == list(story.state.dump())


def test_given_more_rules_than_texts_have_kinds_then_every_alert_keeps_its_texts() -> None:
    story = with_rules(*(an_active_rule(f"rule-{number}") for number in range(300)))

    story.wire("enti_1", "cpty_1", 6_000_00, HOUR)
    opened = story.last(AlertRow)
    list(story.state.dump())

    alerts = [story.program.alerts.get(row.id) for row in opened]
    texts = [story.program.alerts.texts(alert) for alert in alerts if alert is not None]
    assert len(opened) == 300
    assert texts == [(row.summary, row.evidence, row.draft) for row in opened]


@pytest.mark.parametrize(
    ("over", "advice"),
    [
        ({"severity": "low"}, "close"),
        ({"severity": "medium"}, "escalate"),
        ({"severity": "low", "action": "hold"}, "hold"),
    ],
)
def test_given_a_rule_of_any_length_then_the_draft_reads_as_any_other_and_has_no_name(
    over: dict[str, str], advice: str
) -> None:
    short = an_active_rule("short", name="Watch J. Doe", note="He lives in Ghent.", **over)
    words = a_condition("status", "not_in", tuple(f"SOME_WORD_{number}" for number in range(100)))
    of_wires = (field for field in (*MONEY, *INTEGERS) if not field.startswith("program.") and "ategory" not in field)
    numbers = (a_condition(field, "lte", 10**12) for field in of_wires)
    known = a_condition("typology.dormantDays", "is_null")
    long = an_active_rule("long", known, *[each for each in numbers if each.field != known.field][:12], **over)
    longest = an_active_rule("longest", *[words] * 50, **over)
    story = with_rules(short, long, longest)

    story.wire("enti_1", "cpty_1", 6_000_00, HOUR, counterparty_name="J. Doe")

    for alert in story.last(AlertRow):
        draft = draft_of(alert)
        assert draft["recommendation"] == advice
        check(alert, draft["narrative"], advice)
        assert not {"Doe", "Ghent"} & set(f"{alert.summary} {alert.draft} {alert.evidence}".replace(".", " ").split())
    assert [alert.detector for alert in story.last(AlertRow)] == ["rule:short", "rule:long", "rule:longest"]
