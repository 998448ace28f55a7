"""A policy version that comes into force in a program, with its effects on the program's state."""

from collections.abc import Iterable

import msgspec

from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.entries.actions import PolicyEntry
from clearhold.features.core.log_entry import Emit, EntryPosition
from clearhold.features.core.rows.alerts import PolicyRow
from clearhold.features.core.rules import RuleMode
from clearhold.features.landing.movement import count_under
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.policy.bodies import (
    POLICY,
    SCORECARD,
    SHADOW,
    ActiveVersion,
    FxBody,
    RulesBody,
    decode_body,
    prefix_of,
    shared_rates,
)
from clearhold.features.policy.card_book import CARD_PREFIXES
from clearhold.features.policy.in_force import effective_policy, thresholds_of, version_in_force
from clearhold.features.policy.rule_set import checked_body
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.series import ALWAYS


def apply_policy(program: ProgramState, entry: PolicyEntry, position: EntryPosition, emit: Emit) -> None:
    """Apply the entry of an activation; a repeated one changes nothing.

    A version with a rule or a card that cannot be evaluated is refused whole: the previous one stays in force.
    """
    if not program.tenant_id:
        program.tenant_id = entry.tenant_id  # the state of a tenant, which no program declares
    body = decode_body(entry.version, entry.body)
    if isinstance(body, RulesBody):
        body = checked_body(body)
    elif isinstance(body, FxBody):
        body = shared_rates(body)
    version = ActiveVersion(
        version=entry.version,
        body=body,
        since=ALWAYS if entry.from_start else position.appended_at,
        action_id=entry.action_id,
        of_program=entry.of_program,
    )
    if prefix_of(version.version) in CARD_PREFIXES:
        bring_card_into_force(program, version, position, emit)
    else:
        bring_into_force(program, version, position, emit)


def bring_card_into_force(program: ProgramState, version: ActiveVersion, position: EntryPosition, emit: Emit) -> None:
    """Score with a card from this entry on, or beside it; a card in shadow decides nothing, so no record cites it."""
    in_force = program.scorecards.activate(version, position.offset)
    program.arrivals.scores_changed |= len(program.transfers) > 0
    if in_force is not None and prefix_of(version.version) == SCORECARD:
        emit(policy_row(program, in_force, position))


def bring_into_force(program: ProgramState, version: ActiveVersion, position: EntryPosition, emit: Emit) -> None:
    """Put a version into the program's book, count under its thresholds, and emit its row.

    Rules change no thresholds and no other policy. A rule in testing decides nothing, so no record cites its version.
    """
    in_force = program.policies.activate(version)
    if in_force is None:
        return
    if isinstance(in_force.body, RulesBody):
        is_testing = prefix_of(in_force.version) == SHADOW
        program.rule_matches.keep(RuleMode.SHADOW if is_testing else RuleMode.LOG, in_force.body.hashes)
        if not is_testing:
            emit(policy_row(program, in_force, position))
        return
    for scores in (program.scores.actors, program.scores.counterparties):
        scores.changes.put_all(len(scores))  # cadences of screening and lists of countries
    start_counting(program, thresholds_of(program, in_force.since).lines.cents, since=in_force.since)
    emit(policy_row(program, in_force, position))
    emit_composed(program, position, emit)


def emit_composed(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Emit the program's autonomy and, where the autonomy changes it, the policy that dispositions cite from now on."""
    at, own = position.appended_at, program.autonomy
    if own.version is not None:
        emit(_row(program, own.version, own.body, position, action_id="", of_program=True))
    given, effective = version_in_force(program, POLICY, at), effective_policy(program, at)
    if effective != given.body:
        composed = msgspec.structs.replace(given, version=effective.version, body=effective)
        emit(policy_row(program, composed, position))


def policy_row(program: ProgramState, version: ActiveVersion, position: EntryPosition) -> PolicyRow:
    """A body in force in the program from this entry on, for readers of the record."""
    return _row(
        program, version.version, version.body, position, action_id=version.action_id, of_program=version.of_program
    )


def _row(
    program: ProgramState, version: str, body: object, position: EntryPosition, *, action_id: str, of_program: bool
) -> PolicyRow:
    encoded = canonical(body)
    return PolicyRow(
        tenant_id=program.tenant_id,
        program_id=program.id,
        version=version,
        shard=position.shard,
        offset=position.offset,
        of_program=of_program,
        action_id=action_id,
        sha256=digest_of(encoded),
        body=encoded.decode(),
        in_force_at=position.appended_at,
    )


def start_counting(program: ProgramState, thresholds_cents: Iterable[int], *, since: int) -> None:
    """Count amounts under the thresholds from now on; thresholds that are already counted change nothing."""
    new = program.counted_lines.add(thresholds_cents, since=since)
    if not new:
        return
    after = min(program.counted_lines.after(line) for line in new)
    for row in program.transfers.rows_after(after):
        movement = StoredTransfer.read(program, row).movement()
        if movement is not None:
            count_under(program, movement, frozenset(new))
