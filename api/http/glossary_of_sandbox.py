"""The words of the sandbox, a part of ``api/http/glossary.py``."""

from collections.abc import Mapping
from typing import Final

SANDBOX_PROPERTIES: Final[Mapping[str, str]] = {
    "ScenarioListing.name": "By which the scenario is run.",
    "ScenarioListing.description": "What happens in it.",
    "rails": "The rails of its transfers. A program that declares its rails without them opens one more alert, "
    "rail_outside_declared.",
    "expects": "The detectors of the alerts that every run opens, in order; empty: it opens none. Alerts that "
    "snapshots of key risk indicators open on the program are not among them, nor those of caps that you set.",
    "scenario": "The scenario that is run.",
    "seed": "Names and amounts follow from the program and the seed. Every run has ids of its own and happens again.",
    "ScenarioRequest.count": "How often it happens, each time to other people.",
    "SandboxResult.events": "Ids of the events that were stored, in their order; GET /api/events/{id} has each.",
    "SandboxResult.transferId": "The transfer that it is about, of several the last one; absent when it is about none.",
    "SandboxResult.alertIds": "The alerts that these events opened or changed, without those that a snapshot of key "
    "risk indicators opened on the program.",
    "SandboxResult.score": "The score of that transfer as it now stands; null when there is none.",
    "committed": "false when the events are stored and what they lead to was not complete within 5 seconds: alertIds "
    "and score then lack what came later.",
}
