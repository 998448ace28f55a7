"""What a rule matched in live shadow: its own matches with its own text alone, and what is known of them since."""

from typing import Any, Final

import duckdb
import msgspec
import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.errors import ForbiddenError
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import AlertRow, BackfillRow, LabelRow, RuleMatchRow
from clearhold.features.core.rules import Rule, RuleMode, ShadowDay, ShadowReport
from clearhold.features.rules.backtest import not_in_shadow, to_shadow_report
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.scorings.rule_backtests import RuleShadow
from clearhold.store.tables import Span, row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_label, a_rule_match, a_scoring, a_step, an_alert
from tests.support.principals import a_key, an_operator
from tests.support.rules import a_rule

RULE: Final = a_rule()  # that of ``a_rule_match``
SINCE: Final = AT - 10 * DAY_US


def report(
    database: duckdb.DuckDBPyConnection,
    rule: Rule = RULE,
    by: Principal | None = None,
    mode: RuleMode = RuleMode.SHADOW,
) -> ShadowReport:
    with RuleShadow(database, by or an_operator(TENANT), rule, None, Span(SINCE, AT + 1)) as shadow:
        return to_shadow_report(rule, shadow.counts(mode), version="shadow-v1", since=SINCE)


def test_given_matches_of_all_kinds_when_reported_then_only_those_in_shadow_with_the_present_text_count(
    database: duckdb.DuckDBPyConnection,
) -> None:
    matches = [
        a_rule_match("trf_1", band="review"),
        a_rule_match("trf_2", matched_at=AT),
        a_rule_match("trf_3", program_id="prg_2"),
        a_rule_match("trf_4", mode="log"),
        a_rule_match("trf_5", rule_sha256="0" * 64),
        a_rule_match("trf_6", rule_id="another"),
        a_rule_match("trf_7", tenant_id="tnt_2"),
        a_rule_match("trf_8", matched_at=SINCE - 1),
    ]
    scorings = [a_scoring(f"trf_{number}", AT - DAY_US, number) for number in range(1, 5)]
    scorings += [a_scoring("trf_1", AT - DAY_US, 9), a_scoring("trf_9", AT - DAY_US, 10)]
    older = msgspec.structs.replace(a_scoring("trf_old", AT, 11), scored_at=SINCE - 1)
    own = {"detector": f"rule:{RULE.id}", "evidence": '{"transferIds":["trf_2"]}'}
    rows: dict[type[msgspec.Struct], list[Any]] = {
        RuleMatchRow: matches,
        TransferFeaturesRow: [*scorings, older],
        BackfillRow: [a_step(10)],
        AlertRow: [an_alert(evidence='{"transferIds":["trf_1","trf_4"]}'), an_alert(id="alr_2", **own)],
        LabelRow: [
            a_label(transfer_id="trf_1", label="ok"),
            a_label(transfer_id="trf_1", label="bad", offset=2),
            a_label(transfer_id="trf_2", label="ok", offset=3),
        ],
    }
    BatchWriter(database).commit(row_tables(rows), {}, AT)

    found = report(database)

    assert (found.matched, found.scanned, found.matched_share) == (3, 4, 0.75)
    assert found.by_band == {"clear": 2, "review": 1, "hold": 0, "unscored": 0}
    assert found.by_day == (ShadowDay(day="2026-02-28", matched=2), ShadowDay(day="2026-03-01", matched=1))
    assert found.overlap_with_existing_alerts == 1
    assert (found.precision.value, found.precision.n) == (0.5, 2)
    assert found.sample_transfer_ids == ("trf_2", "trf_1", "trf_3")
    assert found.false_positive_transfer_ids == ("trf_2",)
    assert report(database, by=a_key(TENANT, "prg_2")).sample_transfer_ids == ("trf_3",)
    assert report(database, mode=RuleMode.LOG).sample_transfer_ids == ("trf_4",)
    with pytest.raises(ForbiddenError):
        report(database, msgspec.structs.replace(RULE, program_id="prg_2"), a_key(TENANT, PROGRAM))


def test_given_a_transfer_that_is_older_than_the_shadow_when_it_matches_then_its_alerts_and_pre_flights_are_known(
    database: duckdb.DuckDBPyConnection,
) -> None:
    landed = AT - 60 * DAY_US
    rows: dict[type[msgspec.Struct], list[Any]] = {
        RuleMatchRow: [a_rule_match("trf_1", bank_created_at=landed)],
        AlertRow: [an_alert(evidence='{"transferIds":["trf_1"]}', updated_at=landed)],
    }
    BatchWriter(database).commit(row_tables(rows), {}, AT)

    assert report(database).overlap_with_existing_alerts == 1


def test_given_a_rule_in_shadow_that_met_no_transfer_when_reported_then_counts_are_zero_and_shares_null(
    database: duckdb.DuckDBPyConnection,
) -> None:
    found = report(database)

    assert (found.matched, found.scanned, found.matched_share, found.by_day) == (0, 0, None, ())
    assert (found.precision.value, found.precision.n) == (None, 0)


def test_given_a_rule_that_is_not_in_shadow_when_reported_then_nothing_is_measured() -> None:
    found = not_in_shadow(RULE)

    assert (found.since, found.version, found.matched, found.scanned, found.by_band, found.by_day) == (None,) * 6
    assert found.overlap_with_existing_alerts is None
