"""The ready questions of analysts, each a macro over the views: calibration, drift, queues, funnels.

Scores  the first scoring of each transfer, which knows nothing of the transfer's later course
Labels  the newest of each transfer. One is mature when its transfer is 60 days old: until then a consumer's debit may
        be returned, and an ok is provisional
Null    not measured; ``n`` is the number of observations behind each other value
Unit    shares are of 1, instants UTC; periods include their first instant and exclude their last
Source  E. B. Wilson (1927) for intervals; the stability index is that of clearhold.features.core.scorecards
"""

from typing import Final, NamedTuple

from clearhold.features.core.scorecards import LAST_TEN, SCORE_CLASSES, UNSCORED_CLASS
from clearhold.store.analysts.alert_questions import detector_outcomes, time_to_decision
from clearhold.store.analysts.drift import weekly_drift
from clearhold.store.duck.database import LABEL_ORDER
from clearhold.store.duck.scorings.labelled import score_class_sql, share_sql

# ruff: noqa: S608 - statements are built from constants

MATURE_DAYS: Final = 60
FEWEST_BAD: Final = 50
"""The fewest bad transfers for fitting a probability."""
_WHOSE: Final = "program := NULL, tenant := NULL"
_WITHIN: Final = f"{_WHOSE}, since := NULL, until := NULL"
_OF_LABELS: Final = f"{_WITHIN}, as_of := NULL, mature_only := false"
_PASSED: Final = "program, tenant, since, until"
_LABELS_PASSED: Final = f"{_PASSED}, as_of, mature_only"
_NOW: Final = "make_timestamp(epoch_us(now()))"
_AS_OF: Final = f"coalesce(CAST(as_of AS TIMESTAMP), {_NOW})"
_OF_PROGRAM: Final = "(program IS NULL OR program_id = program) AND (tenant IS NULL OR tenant_id = tenant)"


def _between(instant: str) -> str:
    return (
        f"{_OF_PROGRAM} AND {instant} >= coalesce(CAST(since AS TIMESTAMP), TIMESTAMP '-infinity')"
        f" AND {instant} < coalesce(CAST(until AS TIMESTAMP), TIMESTAMP 'infinity')"
    )


class ReadyQuestion(NamedTuple):
    """A macro: ``FROM name(parameter := value)``. The comment says which question it answers."""

    name: str
    parameters: str
    comment: str
    select: str


_PERIOD: Final = "since and until are of the transfer's own time."
QUESTIONS: Final[tuple[ReadyQuestion, ...]] = (
    ReadyQuestion(
        "scorings",
        _WITHIN,
        f"The first scoring of each transfer; other questions build on it. {_PERIOD}",
        f"""
    SELECT tenant_id, program_id, transfer_id, taken_at, score, band, n, degraded, day
    FROM transfer_features WHERE NOT rescored AND {_between("taken_at")}""",
    ),
    ReadyQuestion(
        "labelled",
        _OF_LABELS,
        f"The first scoring of each labelled transfer with its newest label; mature when the transfer is "
        f"{MATURE_DAYS} days old at as_of, by default now. {_PERIOD}",
        f"""
    SELECT scoring.tenant_id, scoring.program_id, scoring.transfer_id, scoring.taken_at, scoring.score, scoring.band,
        label.is_bad, label.source, label.labelled_at,
        scoring.taken_at <= {_AS_OF} - INTERVAL {MATURE_DAYS} DAY AS is_mature
    FROM scorings({_PASSED}) AS scoring JOIN (
        SELECT tenant_id, program_id, transfer_id, arg_max(label, {LABEL_ORDER}) = 'bad' AS is_bad,
            arg_max(label_versions.source, {LABEL_ORDER}) AS source, arg_max(created_at, {LABEL_ORDER}) AS labelled_at
        FROM label_versions WHERE {_OF_PROGRAM} GROUP BY ALL
    ) AS label USING (tenant_id, program_id, transfer_id)
    WHERE is_mature OR NOT coalesce(mature_only, false)""",
    ),
    ReadyQuestion(
        "band_outcomes",
        _OF_LABELS,
        "How often were transfers bad, band by band, as scored at the time? n are labelled ones; low and high are "
        f"Wilson's 95 % interval; mature_ is the same of transfers that are {MATURE_DAYS} days old. The share "
        f"must rise from clear to review to hold. {_PERIOD}",
        f"""
    WITH volume AS (SELECT band, count(*) AS transfers FROM scorings({_PASSED}) GROUP BY band),
    outcome AS (
        SELECT band, count(*) AS n, count(*) FILTER (is_bad) AS bad, count(*) FILTER (is_mature) AS mature_n,
            count(*) FILTER (is_bad AND is_mature) AS mature_bad
        FROM labelled({_LABELS_PASSED}) GROUP BY band
    )
    SELECT band, coalesce(transfers, 0) AS transfers, coalesce(n, 0) AS n, coalesce(bad, 0) AS bad,
        bad / n AS bad_share, wilson_low(bad, n) AS low, wilson_high(bad, n) AS high,
        coalesce(mature_n, 0) AS mature_n, mature_n / n AS mature_share,
        if(mature_n > 0, mature_bad / mature_n, NULL) AS mature_bad_share,
        wilson_low(mature_bad, mature_n) AS mature_low, wilson_high(mature_bad, mature_n) AS mature_high
    FROM (VALUES (1, 'clear'), (2, 'review'), (3, 'hold'), (4, 'unscored')) AS bands(place, band)
        LEFT JOIN volume USING (band) LEFT JOIN outcome USING (band) ORDER BY place""",
    ),
    ReadyQuestion(
        "reliability",
        f"{_OF_LABELS}, split_at := NULL",
        "Does a score mean later what it meant before? p is the share of bad in each tenth of the scale among labelled "
        "transfers before split_at (by default the first 60 % of them), observed the share after it, gap their "
        "distance. ece and brier are of all tenths that have a p. A score is no chance: p is. With fewer than "
        f"{FEWEST_BAD} bad ones before split_at p is null: use band_outcomes.",
        f"""
    WITH scored AS MATERIALIZED (SELECT * FROM labelled({_LABELS_PASSED}) WHERE score IS NOT NULL),
    known AS (
        SELECT *, least(score // 10, 9) AS bin, taken_at < coalesce(CAST(split_at AS TIMESTAMP),
            (SELECT quantile_disc(taken_at, 0.6) FROM scored)) AS is_early
        FROM scored
    ), counted AS (
        SELECT bin, count(*) FILTER (is_early) AS fitted_n, count(*) FILTER (is_early AND is_bad) AS fitted_bad,
            count(*) FILTER (NOT is_early) AS n, count(*) FILTER (NOT is_early AND is_bad) AS bad
        FROM known GROUP BY bin
    ), shares AS (
        SELECT range AS bin, coalesce(fitted_n, 0) AS fitted_n,
            if(fitted_n > 0 AND sum(fitted_bad) OVER () >= {FEWEST_BAD}, fitted_bad / fitted_n, NULL) AS p,
            coalesce(n, 0) AS n, coalesce(bad, 0) AS bad, if(n > 0, bad / n, NULL) AS observed
        FROM range(10) LEFT JOIN counted ON counted.bin = range.range
    )
    SELECT bin * 10 AS score_from, if(bin = 9, 100, bin * 10 + 9) AS score_to, fitted_n, p, n, bad, observed,
        wilson_low(bad, n) AS low, wilson_high(bad, n) AS high, abs(p - observed) AS gap,
        sum(n * abs(p - observed)) OVER () / nullif(sum(n) FILTER (p IS NOT NULL) OVER (), 0) AS ece,
        sum(bad * (1 - p) ** 2 + (n - bad) * p ** 2) OVER ()
            / nullif(sum(n) FILTER (p IS NOT NULL) OVER (), 0) AS brier
    FROM shares ORDER BY bin""",
    ),
    ReadyQuestion(
        "precision_recall",
        _OF_LABELS,
        "How much does alerting from a score find, at what volume? precision is of the n labelled ones, recall of "
        "the bad_n known bad ones, unscored ones included. Labels come mostly from alerts, so recall is optimistic.",
        f"""
    WITH volume AS (SELECT score, count(*) AS transfers FROM scorings({_PASSED}) GROUP BY score),
    outcome AS (
        SELECT score, count(*) AS labelled, count(*) FILTER (is_bad) AS bad
        FROM labelled({_LABELS_PASSED}) GROUP BY score
    ), totals AS (SELECT coalesce(sum(bad), 0)::BIGINT AS all_bad FROM outcome),
    counted AS (
        SELECT range AS score_from,
            (SELECT coalesce(sum(transfers), 0)::BIGINT FROM volume WHERE score >= range) AS alerted,
            (SELECT coalesce(sum(labelled), 0)::BIGINT FROM outcome WHERE score >= range) AS n,
            (SELECT coalesce(sum(bad), 0)::BIGINT FROM outcome WHERE score >= range) AS tp
        FROM range(0, 101, 5)
    )
    SELECT score_from, alerted, n, tp, n - tp AS fp, all_bad - tp AS fn, if(n > 0, tp / n, NULL) AS precision,
        wilson_low(tp, n) AS precision_low, wilson_high(tp, n) AS precision_high,
        all_bad AS bad_n, if(all_bad > 0, tp / all_bad, NULL) AS recall, wilson_low(tp, all_bad) AS recall_low,
        wilson_high(tp, all_bad) AS recall_high
    FROM counted, totals ORDER BY score_from""",
    ),
    ReadyQuestion(
        "reason_lift",
        _OF_LABELS,
        "Which reasons point at bad transfers? bad_share of the n labelled ones with the reason, over base_share of "
        "all all_n labelled ones, is the lift; 1 says nothing.",
        f"""
    WITH known AS (SELECT * FROM labelled({_LABELS_PASSED})),
    base AS (SELECT count(*) AS all_n, count(*) FILTER (is_bad) AS all_bad FROM known),
    fired AS (
        SELECT DISTINCT tenant_id, program_id, transfer_id, known.is_bad, reason_id
        FROM transfer_reasons AS reason JOIN known USING (tenant_id, program_id, transfer_id)
        WHERE NOT reason.rescored
    )
    SELECT reason_id, count(*) AS n, count(*) FILTER (is_bad) AS bad, count(*) FILTER (is_bad) / count(*) AS bad_share,
        wilson_low(count(*) FILTER (is_bad), count(*)) AS low, wilson_high(count(*) FILTER (is_bad), count(*)) AS high,
        any_value(all_n) AS all_n, any_value(all_bad / all_n) AS base_share,
        if(any_value(all_bad) > 0, count(*) FILTER (is_bad) / count(*) / any_value(all_bad / all_n), NULL) AS lift
    FROM fired, base GROUP BY reason_id ORDER BY lift DESC NULLS LAST, n DESC, reason_id""",
    ),
    ReadyQuestion(
        "weekly_drift",
        _WITHIN,
        "How do scores change from week to week? Shares of n by band, of degraded ones, the median of observations "
        "behind a score, and the stability index (psi) against the n_before of the week before. Two weeks without a "
        "change stay under psi_by_chance in 95 of 100 cases. verdict is few under 200 transfers in either week, else "
        "look from 0.10 and act from 0.25, where psi is over chance too, else steady. A rise of unscored is a data "
        "problem before it is a finding. Weeks begin on Monday.",
        weekly_drift(_PASSED),
    ),
    ReadyQuestion(
        "weekly_reasons",
        f"{_WITHIN}, places := 5",
        "Which reasons do transfers in review and hold have most, week by week? share is of the n of them.",
        f"""
    WITH fired AS (
        SELECT DISTINCT date_trunc('week', taken_at)::DATE AS week, tenant_id, program_id, transfer_id, reason_id
        FROM transfer_reasons WHERE NOT rescored AND band IN ('review', 'hold') AND {_between("taken_at")}
    ), weeks AS (
        SELECT date_trunc('week', taken_at)::DATE AS week, count(*) AS n
        FROM scorings({_PASSED}) WHERE band IN ('review', 'hold') GROUP BY ALL
    ), counted AS (SELECT week, reason_id, count(*) AS fired FROM fired GROUP BY ALL)
    SELECT week, row_number() OVER (PARTITION BY week ORDER BY fired DESC, reason_id) AS place, reason_id, fired, n,
        fired / n AS share
    FROM counted JOIN weeks USING (week)
    QUALIFY place <= coalesce(places, 5) ORDER BY week, place""",
    ),
    ReadyQuestion(
        "score_stability",
        f"before_from, before_to, after_from, after_to, {_WHOSE}",
        "Are scores spread in one period as in another? Ten classes of scores, and those without one as null; psi is "
        "the sum of the contributions: look from 0.10, act from 0.25. Null when a period has no transfer.",
        f"""
    WITH counted AS (
        SELECT {score_class_sql("score")} AS class,
            count(*) FILTER (taken_at >= CAST(before_from AS TIMESTAMP) AND taken_at < CAST(before_to AS TIMESTAMP))
                AS n_before,
            count(*) FILTER (taken_at >= CAST(after_from AS TIMESTAMP) AND taken_at < CAST(after_to AS TIMESTAMP))
                AS n_after
        FROM scorings(program, tenant, least(CAST(before_from AS TIMESTAMP), CAST(after_from AS TIMESTAMP)),
            greatest(CAST(before_to AS TIMESTAMP), CAST(after_to AS TIMESTAMP))) GROUP BY ALL
    ), counts AS (
        SELECT range AS class, coalesce(n_before, 0) AS n_before, coalesce(n_after, 0) AS n_after,
            sum(coalesce(n_before, 0)) OVER () AS all_before, sum(coalesce(n_after, 0)) OVER () AS all_after
        FROM range({SCORE_CLASSES}) LEFT JOIN counted ON counted.class = range.range
    ), shares AS (
        SELECT *, if(all_before > 0, {share_sql("n_before", "all_before")}, NULL) AS share_before,
            if(all_after > 0, {share_sql("n_after", "all_after")}, NULL) AS share_after
        FROM counts
    )
    SELECT if(class = {UNSCORED_CLASS}, NULL, class * 10) AS score_from,
        if(class = {UNSCORED_CLASS}, NULL, if(class = {LAST_TEN}, 100, class * 10 + 9)) AS score_to,
        n_before, n_after, share_before, share_after,
        (share_after - share_before) * ln(share_after / share_before) AS contribution,
        sum((share_after - share_before) * ln(share_after / share_before)) OVER () AS psi
    FROM shares ORDER BY class""",
    ),
    ReadyQuestion(
        "alert_ageing",
        f"{_WHOSE}, as_of := NULL",
        "How long do alerts wait, and are they decided in time? Open ones by age, overdue ones, hours until closed "
        "ones were, and the share of the due_n closed ones with a due time that were in time. All as it stood at "
        "as_of, by default now.",
        f"""
    WITH known AS (
        SELECT sla_tier, opened_at, closed_at, due_at FROM alert_versions
        WHERE {_OF_PROGRAM} AND updated_at <= {_AS_OF}
        QUALIFY row_number() OVER (PARTITION BY tenant_id, program_id, id ORDER BY "offset" DESC) = 1
    ), aged AS (
        SELECT sla_tier, closed_at IS NULL AS is_open, due_at,
            epoch(coalesce(closed_at, {_AS_OF}) - opened_at) / 3600 AS hours,
            due_at < coalesce(closed_at, {_AS_OF}) AS is_late
        FROM known
    )
    SELECT sla_tier, count(*) FILTER (is_open) AS open_n, count(*) FILTER (is_open AND hours < 24) AS under_1_day,
        count(*) FILTER (is_open AND hours >= 24 AND hours < 72) AS under_3_days,
        count(*) FILTER (is_open AND hours >= 72 AND hours < 168) AS under_7_days,
        count(*) FILTER (is_open AND hours >= 168 AND hours < 720) AS under_30_days,
        count(*) FILTER (is_open AND hours >= 720) AS older, count(*) FILTER (is_open AND is_late) AS overdue,
        quantile_cont(hours, 0.5) FILTER (is_open) AS open_hours_p50,
        quantile_cont(hours, 0.9) FILTER (is_open) AS open_hours_p90,
        count(*) FILTER (NOT is_open) AS closed_n, quantile_cont(hours, 0.5) FILTER (NOT is_open) AS closing_hours_p50,
        quantile_cont(hours, 0.9) FILTER (NOT is_open) AS closing_hours_p90,
        count(*) FILTER (NOT is_open AND due_at IS NOT NULL) AS due_n,
        count(*) FILTER (NOT is_open AND NOT is_late) / nullif(due_n, 0) AS in_time_share,
        wilson_low(count(*) FILTER (NOT is_open AND NOT is_late), due_n) AS low,
        wilson_high(count(*) FILTER (NOT is_open AND NOT is_late), due_n) AS high
    FROM aged GROUP BY sla_tier ORDER BY sla_tier""",
    ),
    ReadyQuestion(
        "detector_outcomes",
        _WITHIN,
        "Which outcomes have the alerts of each detector? alerts opened within since and until; decided by a person, "
        "and the hours from opening to that; of the n alerts with a labelled transfer the bad and ok ones, and "
        "the bad share with its 95 % interval. An alert is bad when any of its transfers is.",
        detector_outcomes(_between("opened_at"), _OF_PROGRAM),
    ),
    ReadyQuestion(
        "time_to_decision",
        _WITHIN,
        "How long until a person decides? Hours from opening to the first decision of a person, over decided alerts, "
        "by severity and tier; waiting ones have none yet. in_time_share is of the due_n decided ones with a due time.",
        time_to_decision(_between("opened_at"), _OF_PROGRAM),
    ),
    ReadyQuestion(
        "funnel",
        _WITHIN,
        "How much goes from event to decision? Events by delivery, transfers by first scoring, alerts by opening, each "
        "within since and until; share is of the step of_place, which has of_n.",
        f"""
    WITH delivered AS (
        SELECT count(*) AS events, count(*) FILTER (result = 'applied') AS applied
        FROM events WHERE {_between("appended_at")}
    ), passed AS (
        SELECT count(*) AS transfers, count(score) AS scored, count(*) FILTER (band IN ('review', 'hold')) AS banded
        FROM transfer_features WHERE NOT rescored AND {_between("scored_at")}
    ), opened AS (
        SELECT tenant_id, program_id, id, closed_at FROM alerts WHERE {_between("opened_at")}
    ), decided AS (
        SELECT tenant_id, program_id, alert_id AS id, bool_or(NOT starts_with(decided_by, 'policy:')) AS by_person
        FROM dispositions WHERE {_OF_PROGRAM} GROUP BY ALL
    ), alerting AS (
        SELECT count(*) AS alerts, count(by_person) AS decided, count(*) FILTER (by_person) AS by_person,
            count(closed_at) AS closed
        FROM opened LEFT JOIN decided USING (tenant_id, program_id, id)
    )
    SELECT step.place, step.step, step.n, step.of_place, step.whole AS of_n,
        if(step.whole > 0, step.n / step.whole, NULL) AS share, wilson_low(step.n, step.whole) AS low,
        wilson_high(step.n, step.whole) AS high
    FROM delivered, passed, alerting, LATERAL (SELECT unnest([
        {{'place': 1, 'step': 'events delivered', 'n': events, 'of_place': NULL, 'whole': NULL}},
        {{'place': 2, 'step': 'events applied', 'n': applied, 'of_place': 1, 'whole': events}},
        {{'place': 3, 'step': 'transfers measured', 'n': transfers, 'of_place': NULL, 'whole': NULL}},
        {{'place': 4, 'step': 'transfers with a score', 'n': scored, 'of_place': 3, 'whole': transfers}},
        {{'place': 5, 'step': 'transfers in review or hold', 'n': banded, 'of_place': 4, 'whole': scored}},
        {{'place': 6, 'step': 'alerts opened', 'n': alerts, 'of_place': NULL, 'whole': NULL}},
        {{'place': 7, 'step': 'alerts decided', 'n': decided, 'of_place': 6, 'whole': alerts}},
        {{'place': 8, 'step': 'alerts decided by a person', 'n': by_person, 'of_place': 7, 'whole': decided}},
        {{'place': 9, 'step': 'alerts closed', 'n': closed, 'of_place': 6, 'whole': alerts}}
    ]) AS step) ORDER BY step.place""",
    ),
)
