"""The tags of the API documents, in their order, with their descriptions."""

from collections.abc import Mapping
from typing import Final

TAGS: Final[Mapping[str, str]] = {
    "ingest": "The bank's events, signed by the bank.",
    "preflight": "A score before the money moves.",
    "programs": "The businesses that bank on the tenant.",
    "transfers": "Transfers with their scores and reasons.",
    "events": "Each event of the bank, with its result.",
    "entities": "The persons and businesses of a program.",
    "counterparties": "The other sides of a program's transfers.",
    "agents": "On-chain agents, imported from a public scan index.",
    "alerts": "Findings that wait for a decision, and their decisions.",
    "dispositions": "Every decision, on the record.",
    "actions": "Actions at the bank, with a second person where two must agree.",
    "labels": "Whether a transfer turned out bad or ok.",
    "clocks": "Decisions that are overdue.",
    "policies": "Versioned rules of routing, clocks and caps.",
    "rules": "Rules that the bank writes: backtested, counted in live shadow, brought into force by two people.",
    "scorecards": "What each signal of a transfer's score is worth: run in shadow, brought into force by two people.",
    "autonomy": "How much of a program's alerts the platform closes alone, and why.",
    "metrics": "How right the scores were, how much they cover, and how alerts were decided.",
    "limits": "Caps that a program may not cross.",
    "ladder": "Caps of entities and counterparties by band, and when each is screened again.",
    "keys": "API keys, for operators.",
    "proofs": "Scores of actors, signed, for readers elsewhere.",
    "webhooks": "Endpoints of the bank's own that events are delivered to, signed.",
    "record": "The tamper-evident record: verification, exports, checkpoints, proofs.",
    "kris": "Key risk indicators of a program.",
    "reports": "What happened in a period: an actor, a program, a program's week.",
    "connector": "Tools for assistants, by the Model Context Protocol.",
    "sandbox": "What the bank would send, for simulated programs: try everything without moving money.",
    "rescoring": "Scoring again with the scorer of today.",
    "operations": "Health and this document.",
}
ADMIN_TAGS: Final[Mapping[str, str]] = {
    "administration": "Tenants, programs, tokens and secrets, for the operators of the platform.",
}
