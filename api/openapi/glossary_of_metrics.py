"""The words of metrics, a part of ``api/openapi/glossary.py``."""

from collections.abc import Mapping
from typing import Final

_BAD: Final = "labelled bad among the labelled transfers that landed in this band."

METRIC_PROPERTIES: Final[Mapping[str, str]] = {
    "Metrics.asOf": "When the figures were taken.",
    "Metrics.windowDays": "How many UTC days are covered; the last may not be over.",
    "Metrics.from": "The midnight at which the first day begins.",
    "Metrics.to": "The midnight at which the last day ends.",
    "calibration": "By band, how many transfers went bad. The band is that of the score with which a transfer landed, "
    "however it was scored again since.",
    "Calibration.clear": f"clear: {_BAD}",
    "Calibration.review": f"review: {_BAD}",
    "Calibration.hold": f"hold: {_BAD}",
    "Calibration.unscored": f"unscored: {_BAD}",
    "labelMaturity": "Final labels among all. A label ok is provisional on the transfers of the last day covered and "
    "of the 60 days before it, which may yet come back as unauthorized.",
    "coverage": "What has a score.",
    "MetricsCoverage.transfers": "Transfers with a score among all, attempts included.",
    "MetricsCoverage.programs": "Programs with a Program Risk Score, as of asOf, among all.",
    "holdBand": "How right the hold band was, by labels and the score with which a transfer landed.",
    "precision": "Bad among the labelled transfers in hold.",
    "recall": "In hold among the transfers labelled bad. Labels favour what was alerted, so this is an upper estimate.",
    "tp": "In hold and bad.",
    "fp": "In hold and ok.",
    "fn": "Bad and not in hold, unscored ones included.",
    "autoClosed": "Closed by the policy as they opened, among the alerts opened in the window.",
    "Metrics.overturned": "Decisions of persons against the draft or against a close by the policy, among all on "
    "alerts with one of them; an appeal has neither.",
    "timeToDecisionHours": "Hours from the opening of an alert to its first decision, by the day of the decision.",
    "TimeToDecision.automated": "Decided by the policy alone, which decides as the alert opens.",
    "TimeToDecision.reviewed": "Decided by a person.",
    "DecisionHours.median": "The median, interpolated between two values; null without a decision.",
    "DecisionHours.p90": "The 90th percentile, interpolated between two values; null without a decision.",
    "DecisionHours.n": "How many decisions.",
    "approvedWithoutWaiting": "Transfers in the band clear that no alert was opened or written with.",
    "ApprovedWithoutWaiting.count": "How many; attempts that the bank declined are among them.",
    "ApprovedWithoutWaiting.cents": "US cents of those that moved money, as a string of digits.",
    "ApprovedWithoutWaiting.n": "How many transfers have a score.",
    "eventCoverage": "Which families of events the bank sent, and which of them are read.",
    "EventCoverage.value": "Families that are read among those that the bank sent; null when it sent none.",
    "EventCoverage.n": "How many families the bank sent.",
    "seen": "The families that the bank sent, in order.",
    "byFamily": "Deliveries by family and result, on the days of the events' own created_at.",
    "family": "The family of an event type, as ach in ach.outgoing_transfer.settled.",
    "FamilyCount.result": "What became of them.",
    "FamilyCount.count": "How many deliveries.",
    "Measured.value": "The share; null without an observation.",
    "Measured.n": "How many observations.",
    "low": "The lower end of the 95 % interval (Wilson); null without an observation.",
    "high": "The upper end of the 95 % interval (Wilson); null without an observation.",
}
