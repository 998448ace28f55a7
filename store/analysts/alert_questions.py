"""Alerts beside their transfers, parties, decisions and labels: two views, and the ready questions of the outcomes of
detectors and of the time to a decision.

An alert is bad when a transfer that it rests on is labelled bad, and ok when one is labelled ok and none is bad. It is
decided with the first disposition of a person; closings by the policy are counted apart.

Null    not measured; quantiles are over decided alerts alone, so that a growing queue shows in ``waiting`` first
Unit    hours; shares are of 1
"""

from typing import Final

from clearhold.store.duck.database import LABEL_ORDER

ALERT_TRANSFERS: Final = """
    SELECT tenant_id, program_id, id AS alert_id, detector, transfer_id, opened_at, status,
        bool_or(is_opening) AS is_opening
    FROM (
        SELECT tenant_id, program_id, id, detector, opened_at, status, named.transfer_id,
            named.transfer_id IS NOT DISTINCT FROM alerts.transfer_id AS is_opening
        FROM alerts, LATERAL (
            SELECT unnest(list_distinct(list_filter(list_concat(
                [alerts.transfer_id, if(alerts.subject_type = 'transfer', alerts.subject_id, NULL)],
                coalesce(alerts.evidence ->> '$.transferIds[*]', [])
            ), each -> each IS NOT NULL))) AS transfer_id
        ) AS named
    ) GROUP BY ALL"""
ALERT_ACTORS: Final = """
    SELECT tenant_id, program_id, alert_id, detector, actor_type, actor_id, bool_or(is_subject) AS is_subject,
        count(transfer_id) AS transfers
    FROM (
        SELECT resting.tenant_id, resting.program_id, alert_id, detector, resting.transfer_id,
            party.actor_type, party.actor_id, false AS is_subject
        FROM alert_transfers AS resting JOIN transfers
            ON transfers.tenant_id = resting.tenant_id AND transfers.program_id = resting.program_id
            AND transfers.id = resting.transfer_id,
        LATERAL (SELECT unnest([
            {'actor_type': 'entity', 'actor_id': transfers.entity_id},
            {'actor_type': 'account', 'actor_id': transfers.account_id},
            {'actor_type': 'counterparty', 'actor_id': transfers.counterparty_id}
        ]) AS party)
        UNION ALL
        SELECT tenant_id, program_id, id, detector, NULL, subject_type, subject_id, true
        FROM alerts WHERE subject_type NOT IN ('transfer', 'program')
    ) WHERE actor_id IS NOT NULL GROUP BY ALL"""
VIEWS: Final = (("alert_transfers", ALERT_TRANSFERS), ("alert_actors", ALERT_ACTORS))
COMMENTS: Final = {
    "alert_transfers": "The transfers that each alert rests on, one a row: the newest hundred of its evidence.",
    "alert_actors": "The entities, accounts and counterparties of each alert, with the number of its transfers.",
}

_WITH_DECISION: Final = """
    WITH opened AS (
        SELECT tenant_id, program_id, id, detector, severity, sla_tier, opened_at, due_at, status
        FROM alerts WHERE {within}
    ), first AS (
        SELECT tenant_id, program_id, alert_id AS id,
            min(created_at) FILTER (NOT starts_with(decided_by, 'policy:')) AS decided_at,
            bool_or(starts_with(decided_by, 'policy:')) AS by_policy
        FROM dispositions WHERE {whose} GROUP BY ALL
    ), timed AS (
        SELECT opened.*, decided_at, coalesce(by_policy, false) AS by_policy,
            epoch(decided_at - opened_at) / 3600 AS hours,
            decided_at IS NULL AND status IN ('open', 'held', 'escalated') AS is_waiting
        FROM opened LEFT JOIN first USING (tenant_id, program_id, id)
    )"""
_OUTCOMES: Final = """{timed}, newest AS (
        SELECT tenant_id, program_id, transfer_id, arg_max(label, {order}) AS label
        FROM label_versions WHERE {whose} GROUP BY ALL
    ), labelled AS (
        SELECT tenant_id, program_id, alert_id AS id, bool_or(label = 'bad') AS is_bad
        FROM alert_transfers JOIN newest USING (tenant_id, program_id, transfer_id) GROUP BY ALL
    )
    SELECT detector, count(*) AS alerts, count(*) FILTER (by_policy) AS closed_by_policy, count(decided_at) AS decided,
        count(*) FILTER (is_waiting) AS waiting, quantile_cont(hours, 0.5) AS hours_p50,
        quantile_cont(hours, 0.9) AS hours_p90, sum(hours) AS hours, count(*) FILTER (is_bad) AS bad,
        count(*) FILTER (NOT is_bad) AS ok, count(is_bad) AS n,
        count(*) FILTER (is_bad) / nullif(count(is_bad), 0) AS bad_share,
        wilson_low(count(*) FILTER (is_bad), count(is_bad)) AS low,
        wilson_high(count(*) FILTER (is_bad), count(is_bad)) AS high
    FROM timed LEFT JOIN labelled USING (tenant_id, program_id, id)
    GROUP BY detector ORDER BY alerts DESC, detector"""
_TIMES: Final = """{timed}
    SELECT severity, sla_tier, count(*) AS alerts, count(*) FILTER (by_policy) AS closed_by_policy,
        count(decided_at) AS decided, count(*) FILTER (is_waiting) AS waiting,
        quantile_cont(hours, 0.5) AS hours_p50, quantile_cont(hours, 0.9) AS hours_p90,
        quantile_cont(hours, 0.99) AS hours_p99, count(decided_at) FILTER (due_at IS NOT NULL) AS due_n,
        count(*) FILTER (decided_at <= due_at) / nullif(due_n, 0) AS in_time_share,
        wilson_low(count(*) FILTER (decided_at <= due_at), due_n) AS low,
        wilson_high(count(*) FILTER (decided_at <= due_at), due_n) AS high
    FROM timed GROUP BY severity, sla_tier
    ORDER BY CASE severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END, sla_tier"""


def detector_outcomes(within: str, whose: str) -> str:
    """The query, with conditions on the alerts, and on decisions and labels."""
    return _OUTCOMES.format(timed=_WITH_DECISION.format(within=within, whose=whose), order=LABEL_ORDER, whose=whose)


def time_to_decision(within: str, whose: str) -> str:
    """The query, with conditions on the alerts and on decisions."""
    return _TIMES.format(timed=_WITH_DECISION.format(within=within, whose=whose))
