"""The detectors as a page, ``docs/detectors.md``."""

from typing import Final

from clearhold.features.catalogue.vector import NAME_OF
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.vocabulary import Severity
from clearhold.features.detectors.amount import micro_program_subject, micro_sender_subject, structurer_subject
from clearhold.features.detectors.detector import (
    ONCE,
    Detector,
    SubjectOf,
    account_subject,
    actor_subject,
    counterparty_subject,
    payee_subject,
    payer_subject,
    program_subject,
    shared_account_subject,
    transfer_subject,
)
from clearhold.features.detectors.flow import chain_end_subject
from clearhold.features.detectors.parties import returning_counterparty_subject, returning_entity_subject
from clearhold.features.detectors.table import DETECTORS, OF_SHAPES, SHAPES_FROM, SIGNALS_ONLY
from docs.pages.wrapping import paragraph

SUBJECTS: Final[dict[SubjectOf, str]] = {
    micro_program_subject: "program",
    micro_sender_subject: "entity",
    account_subject: "account",
    actor_subject: "entity",
    chain_end_subject: "entity",
    counterparty_subject: "counterparty",
    payee_subject: "payee",
    payer_subject: "payer",
    program_subject: "program",
    returning_counterparty_subject: "counterparty",
    returning_entity_subject: "entity",
    shared_account_subject: "counterparty",
    structurer_subject: "entity, else counterparty",
    transfer_subject: "transfer",
}
_HEAD: Final = """# Detectors

The conditions that open an alert, and its subject. An alert is not proof of wrongdoing. Detectors run on every assessed
transfer, scored or not, and on every snapshot of a program. A reason (`docs/reasons.md`) triggers a detector, which may
have further conditions. Windows and further conditions are proposals, to be tuned on labels.

There is one alert per detector, subject and window. The window begins at the first finding's own time; a transfer has
at most one alert of a detector. Later findings within the window join the alert: `hits` counts them, and the alert is
updated to its last finding. An alert closed by a person is never changed. A finding opens a new alert when the alert
that covers it was closed by a person and the finding is more severe, or was closed by the policy and the policy would
not close this finding. A finding of `rapid_in_out` joins the subject's newest alert for 60 days when payers and payee
had dealt with the subject before that alert.

Every transfer whose score is in review or hold is in an alert that a person decides. When no detector opens or joins an
alert, `band_review` or `band_hold` opens one on the transfer. Two kinds of alert do not count here: alerts on the
program, which have no score, and alerts that were decided before the transfer, which do not name it.

`restsOn` in an alert's evidence names the newest 100 transfers that support its last finding, and `restsOnCount` is the
number of all of them; `transferIds` names the newest transfers with a finding. Where amounts, types or returns decide
which transfers support it, the newest 500 of the window are examined. An alert has `fromHistory` when all its transfers
were more than 48 hours old at delivery.

An entity is the account itself where the bank has not named its owner. Payer and payee are the sides of the transfer:
an entity, an account or a counterparty. In place of a party without an id the subject is the entity, else the transfer.
Severity is that of the finding. An alert is hard when its finding is, or when a reason of the score at which it opens
is; a hard alert always goes to a person.

An unauthorized return is examined on delivery: the second return of an entity or counterparty needs no further
transfer.

A bank's rule is a detector `rule:<id>`. It examines every assessed transfer and opens one alert on each match, with the
rule's severity, always for a person; with `action` `log`, or in testing, it only counts. `rule` in the evidence names
the rule's version and digest, and each condition with the value `observed`.

A detector that names a key risk indicator in place of reasons runs on every snapshot of a program: every 15 minutes,
after every 200 transfers, and on request. The indicator's threshold comes from the policy in force (prefix `kri`); the
figures here are the seeded ones. Such an alert has no transfer and no score: its evidence is the indicator's reading
with its parts, and the snapshot. A snapshot that is over the threshold joins the open alert, also after its window, and
updates it when a figure changed. A breach that begins a day or more after the previous breach ended opens a new alert
when the previous alert is decided. `isRepeat` says that the indicator breached before: `earlierBreaches` counts the
breaches that began in the 180 days before, `firstBreachAt` is the first of them, and `earlierAlerts` counts all alerts
of the detector on this program.

Alerts that wait for a person are stacked, so that one misdeed is one row of the queue (`GET /api/stacks`). The key of
a stack is the party that its alerts accuse: the subject; for an alert on a transfer, the entity that moved the money,
else its account. Alerts of one key are one stack while their transfers are at most two weeks apart. A party that has
dealt with ten others for a month, such as the employer of a payroll, is no key of an alert on a transfer with one of
those, nor of one on any transfer once it has dealt with a hundred; the key is then the counterparty, or the transfer
alone where the counterparty deals with ten others, too. A purchase by card is always the holder's. Alerts on the
program are stacked by detector, and an appeal stands alone. The stack is decided when an alert opens, or first waits,
and an alert stays in it until a person takes it out (`POST /api/stacks/{id}/split`); stacks are not merged
([0090](decisions/0090-stacks.md)).

Made from `features/detectors`; a test keeps the two equal.

| detector | opens when | reasons | subject | severity | hard | window | thresholds | features |
|---|---|---|---|---|---|---|---|---|
"""


def markdown() -> str:
    """The page."""
    rows = "".join(_row(detector) for detector in DETECTORS)
    ends = (
        (
            "Shapes that are rare in one program are everyday traffic in another. Once the usual of "
            "the program is known (`commonSignals` is not null, which takes 200 transfers of earlier days), these "
            f"detectors open or join an alert only where the score is at least {SHAPES_FROM} or null: "
            f"{_of_shapes()}."
        ),
        f"Signals that add points and open no alert: {', '.join(SIGNALS_ONLY)}.",
    )
    return f"{_HEAD}{rows}\n" + "\n".join(f"{paragraph(each)}\n" for each in ends)


def _of_shapes() -> str:
    fed = [detector.id for detector in DETECTORS if {each.reason_id for each in detector.triggers} & OF_SHAPES]
    return ", ".join(f"`{each}`" for each in fed)


def _row(detector: Detector) -> str:
    cells = (
        f"`{detector.id}`",
        detector.opens_when,
        ", ".join(dict.fromkeys(trigger.reason_id for trigger in detector.triggers)) or _indicators(detector),
        _subjects(detector),
        _severities(detector),
        _hardness(detector),
        ", ".join(dict.fromkeys(_window(trigger.window_us) for trigger in detector.triggers)) or detector.window,
        ", ".join(f"{name} {value}" for name, value in detector.thresholds.items()),
        ", ".join(NAME_OF[column] for column in detector.features),
    )
    return f"| {' | '.join(cells)} |\n"


def _indicators(detector: Detector) -> str:
    return ", ".join(f"`{name}`" for name in detector.kris) or "measured"


def _subjects(detector: Detector) -> str:
    return ", ".join(dict.fromkeys(SUBJECTS[each.subject] for each in detector.triggers)) or _subject_of_all(detector)


def _subject_of_all(detector: Detector) -> str:
    return ", ".join(detector.subjects) or "program"


def _severities(detector: Detector) -> str:
    usual = {trigger.grade.severity for trigger in detector.triggers} | set(detector.severities)
    return ", ".join(severity.value for severity in Severity if severity in usual)


def _hardness(detector: Detector) -> str:
    hard = [trigger.reason_id for trigger in detector.triggers if trigger.grade.hard]
    if hard and len(hard) == len(detector.triggers):
        return "hard"
    return "; ".join(filter(None, (", ".join(hard), detector.hard_when)))


def _window(window_us: int) -> str:
    if window_us == ONCE:
        return "for good"
    return f"{window_us // DAY_US} d" if window_us % DAY_US == 0 and window_us > DAY_US else f"{window_us // HOUR_US} h"
