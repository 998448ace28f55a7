"""The words of the sandbox, a part of ``api/openapi/glossary.py``."""

from collections.abc import Mapping
from typing import Final

SANDBOX_PROPERTIES: Final[Mapping[str, str]] = {
    "ScenarioListing.name": "By which the scenario is run.",
    "ScenarioListing.description": "What happens in it.",
    "rails": "The rails of its transfers. A program that declares its rails without them opens one more alert, "
    "rail_outside_declared.",
    "expects": "The detectors of the alerts that every run opens, by name; empty: it opens none. Alerts that "
    "snapshots of key risk indicators open on the program are not among them, nor those of caps that you set.",
    "scenario": "The scenario that is run.",
    "seed": "Names and amounts follow from the program and the seed. Every run has ids of its own and happens again.",
    "ScenarioRequest.count": "How often it happens, each time to other people.",
    "SandboxTransfer.type": "Required on ach, and left out on every other rail: CREDIT pushes money, DEBIT pulls it.",
    "SandboxTransfer.entityId": "The entity on the program's side, or one of its accounts; left out, an account of the "
    "sandbox that nobody owns.",
    "SandboxTransfer.counterparty": "The other side; the same details are the same counterparty. Left out, one that is "
    "always the same.",
    "EventRequest.type": "A type that the bank sends, as in account.frozen. docs/events.md lists them.",
    "EventRequest.data": "The bank's object. It is stored as it is, and GET /api/events/{id} says what became of it.",
    "ReturnRequest.transferId": "The bank's id of the transfer that comes back.",
    "ReturnRequest.returnCode": "An ACH return code, as in R01, or the return reason of a check, as in A; left out for "
    "an international wire.",
    "SandboxResult.events": "Ids of the events that were stored, in their order; GET /api/events/{id} has each.",
    "SandboxResult.transferId": "The transfer that it is about, of several the last one; absent when it is about none.",
    "SandboxResult.alertIds": "The alerts that these events opened or changed, without those that a snapshot of key "
    "risk indicators opened on the program.",
    "SandboxResult.score": "The score of that transfer as it now stands; null when there is none.",
    "committed": "false when the events are stored and what they lead to was not complete within 5 seconds: alertIds "
    "and score then lack what came later.",
}
