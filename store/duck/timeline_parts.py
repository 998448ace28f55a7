"""The timeline of a party with few transfers, by small statements.

One statement for all kinds of rows costs 16 ms of processor time, nearly all for its plan. These cost half of it, none
runs for long, and the answer of each stays in memory until its own table is written.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from clearhold.features.core.vocabulary import SubjectType
from clearhold.store.tables import NUMBERS, TEXTS, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

FEW: Final = 500
"""More transfers or alerts are not brought to memory."""

OF_PROGRAM: Final = "tenant_id = $tenant AND program_id = $program"
GIVEN: Final = TEXTS.replace("?", "{}")
NEWEST: Final = 'row_number() OVER (PARTITION BY id ORDER BY "offset" DESC) = 1'
LATEST_FIRST: Final = f'({2**63 - 1} - "offset")'

# Instant, key, kind, ids of transfer, alert, decision and action, amount, currency, words.
SCORES: Final = f"""
    SELECT epoch_us(scored_at), 'score:' || {LATEST_FIRST} || ':' || id, 'score', NULL, NULL, NULL, NULL,
        NULL, NULL, [subject_type, subject_id, former_band, band, score::VARCHAR]
    FROM scores WHERE {OF_PROGRAM} AND band <> former_band AND {{which}}"""
DECISIONS: Final = f"""
    SELECT epoch_us(created_at), 'decision:' || id, 'decision', NULL, alert_id, id, action_id, NULL, NULL,
        [decision, decided_by] FROM (
            SELECT * FROM dispositions WHERE {OF_PROGRAM} AND {{which}} QUALIFY {NEWEST})"""
ACTIONS: Final = f"""
    SELECT epoch_us(min(updated_at)), 'action:' || id || ':' || status, 'action', NULL,
        arg_max(alert_id, "offset"), NULL, id, NULL, NULL, [arg_max(type, "offset"), status,
        arg_max(target_type, "offset"), arg_max(target_id, "offset"), arg_max(requested_by, "offset"),
        arg_max(approved_by, "offset"), arg_max(ended_by, "offset")]
    FROM actions WHERE {OF_PROGRAM} AND {{which}} GROUP BY id, status"""
LABELS: Final = f"""
    SELECT epoch_us(created_at), 'label:' || id, 'label', transfer_id, NULL, NULL, NULL, NULL, NULL,
        [label, source, recorded_by] FROM (
            SELECT * FROM labels WHERE {OF_PROGRAM} AND {{which}} QUALIFY {NEWEST})"""
NOTES: Final = f"""
    SELECT epoch_us(created_at), 'note:' || id, 'note', NULL, alert_id, NULL, NULL, NULL, NULL,
        [written_by] FROM alert_notes WHERE {OF_PROGRAM} AND {{which}}"""
ASSIGNED: Final = f"""
    SELECT epoch_us(created_at), 'assigned:' || id, 'assigned', NULL, alert_id, NULL, NULL, NULL, NULL,
        [assignee, assigned_by] FROM alert_assignments WHERE {OF_PROGRAM} AND {{which}}"""

_MINE: Final = f"""
    SELECT id, number, epoch_us(bank_created_at), epoch_us(returned_at), amount_cents, currency,
        [direction, rail, type, status], [return_code]
    FROM transfers WHERE {OF_PROGRAM} AND {{which}} QUALIFY {NEWEST} LIMIT {FEW + 1}"""
_TRANSFERS: Final = GIVEN.format("$transfers")
_ALERTED: Final = f"""
    SELECT epoch_us(opened_at), 'alert:' || id, 'alert', transfer_id, id, NULL, NULL, NULL, NULL, [severity, summary]
    FROM alerts WHERE {OF_PROGRAM} AND (
        (subject_type IN {GIVEN.format("$types")} AND subject_id = $subject)
        OR (subject_type = '{SubjectType.ACCOUNT}' AND subject_id IN {GIVEN.format("$accounts")})
        OR (subject_type = '{SubjectType.TRANSFER}' AND subject_id IN {_TRANSFERS})
        OR id IN (SELECT alert_id FROM alert_transfers
            WHERE {OF_PROGRAM} AND transfer_number IN {NUMBERS.replace("?", "$numbers")}))
    QUALIFY {NEWEST} LIMIT {FEW + 1}"""
_OF_PARTY: Final = f"subject_type IN {GIVEN.format('$types')} AND subject_id = $subject"
_OF_ALERTS: Final = f"alert_id IN {GIVEN.format('$alerts')}"
_TARGETS: Final = f"""({_OF_ALERTS}
    OR (target_type IN {GIVEN.format("$types")} AND target_id = $subject)
    OR (target_type = '{SubjectType.ACCOUNT}' AND target_id IN {GIVEN.format("$accounts")})
    OR (target_type = '{SubjectType.TRANSFER}' AND target_id IN {_TRANSFERS}))"""
_LABELLED: Final = f"transfer_id IN {_TRANSFERS}"


class _Part(NamedTuple):
    """Rows of one kind, which can only be there with alerts, or with transfers, where it says so."""

    kind: str
    sql: str
    needs: str = ""


_PARTS: Final = (
    _Part("score", SCORES.format(which=_OF_PARTY)),
    _Part("decision", DECISIONS.format(which=_OF_ALERTS), "alerts"),
    _Part("action", ACTIONS.format(which=_TARGETS)),
    _Part("label", LABELS.format(which=_LABELLED), "transfers"),
    _Part("note", NOTES.format(which=_OF_ALERTS), "alerts"),
    _Part("assigned", ASSIGNED.format(which=_OF_ALERTS), "alerts"),
)

Line = tuple[Any, ...]
"""As the statements above."""


def lines_of(
    read: Callable[[str, Mapping[str, Any]], Sequence[Line]],
    party: Mapping[str, Any],
    which: str,
    kinds: Collection[str],
) -> list[Line] | None:
    """All rows of these kinds, in no order; None of a party with more than ``FEW`` transfers or alerts.

    ``party`` are the parameters tenant, program, subject, types and accounts; ``which`` is the condition for its
    transfers.
    """

    def rows_of(sql: str) -> Sequence[Line]:
        return read(sql, {name: value for name, value in values.items() if f"${name}" in sql})

    values = dict(party)
    mine = rows_of(_MINE.format(which=which))
    if len(mine) > FEW:
        return None
    values |= {"transfers": listed([each[0] for each in mine]), "numbers": listed([each[1] for each in mine])}
    alerted = rows_of(_ALERTED)
    if len(alerted) > FEW:
        return None
    values["alerts"] = listed([each[4] for each in alerted])
    present = {"": True, "alerts": alerted, "transfers": mine}
    lines = [*_money(mine)] if "money" in kinds else []
    lines += alerted if "alert" in kinds else []
    for part in _PARTS:
        if part.kind in kinds and present[part.needs]:
            lines += rows_of(part.sql)
    return lines


def _money(mine: Sequence[Line]) -> list[Line]:
    """Transfers and returns."""
    lines: list[Line] = []
    for id_, _, created_at, returned_at, amount_cents, currency, words, return_code in mine:
        of_transfer = ("money", id_, None, None, None, amount_cents, currency)
        lines.append((created_at, f"money:{id_}", *of_transfer, words))
        if returned_at is not None:
            lines.append((returned_at, f"return:{id_}", *of_transfer, return_code))
    return lines
