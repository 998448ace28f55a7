"""On-chain agents as the interface shows them, and the results of imports."""

from typing import Annotated

import msgspec

from clearhold.api.http.fields import CursorText, PageLimit
from clearhold.api.lists.lists import instant_text, to_answer
from clearhold.features.core.program import Simulated
from clearhold.features.core.reason import Score
from clearhold.features.core.rows.parties import AgentImportRow, AgentRow
from clearhold.features.core.vocabulary import Band, about


class AgentsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``band`` is that of the score, or unscored."""

    band: Annotated[tuple[Band, ...], msgspec.Meta(min_length=1, max_length=len(Band))] | None = None
    limit: PageLimit | None = None
    cursor: CursorText | None = None


class ImportRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``full`` reads all settlements from the beginning and imports unchanged ones again."""

    full: Annotated[bool, about("Whether all settlements are read and imported again, unchanged ones too.")] = False


class Agent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent with its score of now. ``name`` is what the agent calls itself."""

    entity_id: Annotated[str, about("The entity that the agent is, on the program `agents`.")]
    name: Annotated[str, about("The name that the agent gives itself, unchecked.")]
    chain_id: Annotated[int | None, about("The chain of the agent's registry; 8453 is Base.")]
    agent_id: Annotated[str | None, about("The agent's id within its registry; every chain has an agent 22.")]
    address: Annotated[str | None, about("The agent's wallet; null when none is set.")]
    verification_status: Annotated[str, about("UNVERIFIED unless the wallet's profile says otherwise.")]
    screening_status: Annotated[
        str | None, about("clear, hit, review or not_covered, of the wallet; null if never screened.")
    ]
    last_screened_at: Annotated[str | None, about("When the wallet was last screened.")]
    settlements: Annotated[int, about("Payments imported, without payments that the chain took back.")]
    volume_cents: str
    score: Annotated[int | None, about("The Agent Risk Score, 0 to 100; null below 10 settlements.")]
    band_name: Annotated[Band, about("clear, review or hold by the score; unscored without one.")]
    n: Annotated[int, about("How many settlements the score rests on.")]
    confidence: Annotated[float | None, about("0 to 1; halved while the wallet was never screened.")]
    version: Annotated[str | None, about("The scorer that gave the score.")]
    simulated: Simulated = msgspec.UNSET


class ImportResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Items read, and the new ones among them: ``transfers``, ``counterparties`` and ``agentCounterparties``."""

    program_id: str
    agents: Annotated[int, about("Agents read, each counted once.")]
    profiles: int
    settlements_scanned: int
    transfers: Annotated[int, about("Settlements that are new, as transfers.")]
    counterparties: Annotated[int, about("Payers that are new, as counterparties.")]
    agent_counterparties: Annotated[int, about("Payers found to be agents' wallets that were not known as such.")]
    simulated: Simulated = msgspec.UNSET


class ImportState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The import under way, else the last one. ``stage`` is begun, done or failed, or none before the first.

    ``reading`` is the list being read, ``skipped`` the number of items left out, by reason.
    """

    program_id: str
    stage: Annotated[str, about("begun, done, failed, or none before the first import.")]
    reading: Annotated[str | None, about("The list that is being read; null when no import is under way.")]
    agents: Annotated[int, about("Agents read so far, each counted once.")]
    profiles: int
    settlements_scanned: int
    skipped: Annotated[
        dict[str, int],
        about("Items left out, by reason: malformed, too_large, unknown_asset, unknown_agent, no_agent, contradicted."),
    ]
    reason: Annotated[str | None, about("Why the import failed; null when it did not.")]
    updated_at: str | None
    simulated: Simulated = msgspec.UNSET


_SKIPPED = msgspec.json.Decoder(dict[str, int])


def to_agent(row: AgentRow, totals: tuple[int, int], score: Score | None) -> Agent:
    """An agent with its score of now."""
    settlements, cents = totals
    return Agent(
        entity_id=row.id,
        name=row.name,
        chain_id=row.chain_id,
        agent_id=row.agent_id,
        address=row.wallet,
        verification_status=row.verification_status,
        screening_status=row.screening_status,
        last_screened_at=instant_text(row.last_screened_at),
        settlements=settlements,
        volume_cents=str(cents),
        score=None if score is None else score.value,
        band_name=Band.UNSCORED if score is None else score.band,
        n=settlements if score is None else score.n,
        confidence=None if score is None else score.confidence,
        version=None if score is None or not (score.hard or score.value is not None) else score.version,
    )


def to_result(row: AgentImportRow) -> ImportResult:
    return to_answer(row, ImportResult)


def to_state(row: AgentImportRow) -> ImportState:
    return to_answer(row, ImportState, reading=None, skipped=_SKIPPED.decode(row.skipped))
