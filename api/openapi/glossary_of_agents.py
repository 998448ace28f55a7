"""The words of on-chain agents and their imports, a part of ``api/openapi/glossary.py``."""

from collections.abc import Mapping
from typing import Final

AGENT_PROPERTIES: Final[Mapping[str, str]] = {
    "Agent.entityId": "The entity that the agent is, on the program `agents`.",
    "Agent.name": "What the agent calls itself; nobody checks it.",
    "chainId": "The chain of the agent's registry; 8453 is Base.",
    "agentId": "The agent's id within its registry; every chain has an agent 22.",
    "address": "The agent's wallet; null when none is set.",
    "Agent.verificationStatus": "UNVERIFIED unless the wallet's profile says otherwise.",
    "screeningStatus": "clear, hit, review or not_covered, of the wallet; null when it was never screened.",
    "Agent.lastScreenedAt": "When the wallet was last screened.",
    "settlements": "Payments imported, without those that the chain took back.",
    "volumeCents": "Their sum, in cents: added up exactly and rounded once.",
    "Agent.score": "The Agent Risk Score, 0 to 100; null below 10 settlements.",
    "bandName": "clear, review or hold by the score; unscored without one.",
    "Agent.n": "How many settlements the score rests on.",
    "Agent.confidence": "0 to 1; halved while the wallet was never screened.",
    "Agent.version": "The scorer that gave the score.",
    "ImportRequest.full": "Whether all settlements are read from the beginning, and what is as it was is imported "
    "again.",
    "ImportResult.agents": "Agents read, each counted once.",
    "ImportState.agents": "Agents read so far, each counted once.",
    "profiles": "Profiles of wallets read, each counted once.",
    "settlementsScanned": "Settlements read, those among them that were read before or left out.",
    "ImportResult.transfers": "Settlements that are new, as transfers.",
    "ImportResult.counterparties": "Payers that are new, as counterparties.",
    "agentCounterparties": "Payers found to be agents' wallets that were not known as such.",
    "stage": "begun, done, failed, or none before the first import.",
    "reading": "The list that is being read; null when no import is under way.",
    "skipped": "Items left out, by reason: malformed, too_large, unknown_asset, unknown_agent, no_agent, contradicted.",
    "ImportState.reason": "Why the import failed; null when it did not.",
}
