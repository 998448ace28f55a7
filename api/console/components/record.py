"""The result of a verification in words, its progress, a link with its proof, and checkpoints as a table."""

from collections.abc import Sequence
from typing import Final

import htpy as h

from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import count, moment, outsider
from clearhold.api.console.visit import Visit
from clearhold.api.record.service import ChainBreak, ChainReport, RecordCheckpoint, RecordProof, VerifyProgress
from clearhold.features.core.canonical import Chain

RECORD: Final = "/console/record"
CHECKPOINT: Final = f"{RECORD}/checkpoint"
PROOF_FILE: Final = f"{RECORD}/proof.json"
SCRIPT: Final = f"{RECORD}/verify.py"
CHAIN_NAMES: Final = {Chain.DISPOSITIONS: "decisions", Chain.ACTIONS: "actions"}
_COLUMNS: Final = {"missing": "only the record has this row", "unrecorded": "only the table has this row"}


def result(report: ChainReport) -> h.Element:
    """Both chains and the rows; green, or the exact first break."""
    states = {Chain.DISPOSITIONS: report.chains.dispositions, Chain.ACTIONS: report.chains.actions}
    return h.div("#result", class_="whole-record" if report.ok else "broken-record", tabindex="-1")[
        h.p(".verdict")[
            "✓ The record is whole." if report.ok else "✗ The record is not whole.",
            h.span(".small")[
                f" {count(report.checked, 'link')} and {count(report.rows.checked, 'row')} were checked just now."
            ],
        ],
        h.ul[
            (
                h.li[
                    f"{'✓' if state.ok else '✗'} Chain of {CHAIN_NAMES[chain]}: ",
                    f"{count(state.checked, 'link')} intact"
                    if state.ok
                    else f"{count(state.checked, 'link')} intact before the first break",
                ]
                for chain, state in states.items()
            ),
            h.li[
                f"{'✓' if report.rows.ok else '✗'} Rows that screens and reports show: ",
                f"{count(report.rows.checked, 'row')} agree with the record"
                if report.rows.ok
                else f"{count(len(report.rows.differences), 'difference')} among {count(report.rows.checked, 'row')}",
            ],
        ],
        None if report.first_break_at is None else _first_break(report.first_break_at),
        None if report.rows.ok else _differences(report),
    ]


def _first_break(broken: ChainBreak) -> h.Element:
    return h.section[
        h.h3[f"The first break: link {broken.seq:,} of the chain of {CHAIN_NAMES[broken.chain]}"],
        h.dl(".particulars")[
            h.dt["Object"],
            h.dd[h.code[broken.id] if broken.id else "cannot be read"],
            h.dt["Written"],
            h.dd[moment(broken.created_at) if broken.created_at else "cannot be read"],
            h.dt["Due there"],
            h.dd[h.code[broken.expected] if broken.expected else "nothing"],
            h.dt["Is there"],
            h.dd[h.code[outsider(broken.found, most=None)] if broken.found else "nothing"],
        ],
        h.p[
            "The links before it are intact, and those after it were not checked. A changed body, a removed link and a "
            "removed end look like this. Compare with an export or a checkpoint that was kept elsewhere."
        ],
    ]


def _differences(report: ChainReport) -> h.Element:
    return h.section[
        h.h3["Rows that differ from the record"],
        wide_table(
            "Rows that differ",
            ("Table", "Row", "Differs in"),
            (
                h.tr[
                    h.td(data_label="Table")[h.code[each.table]],
                    h.td(".words", data_label="Row")[h.code[outsider(each.id, most=None)]],
                    h.td(".words", data_label="Differs in")[
                        ", ".join(_COLUMNS.get(name, name) for name in each.columns)
                    ],
                ]
                for each in report.rows.differences
            ),
            style="endpoints",
        ),
    ]


def progress_words(progress: VerifyProgress | None) -> str:
    if progress is None:
        return "The verification begins."
    if progress.chain is None:
        return "The links are checked. The rows that quote them are compared now."
    name = CHAIN_NAMES[progress.chain]
    return f"Chain of {name}: {progress.checked:,} of {count(progress.links, 'link')} checked."


def checkpoint_table(checkpoints: Sequence[RecordCheckpoint]) -> h.Node:
    if not checkpoints:
        return h.p["No checkpoint is signed yet. Each chain that has grown is signed every five minutes."]
    return wide_table(
        "Checkpoints",
        ("Chain", "Links", "Signed", "Root", "File"),
        (_checkpoint(each) for each in checkpoints),
        style="endpoints",
    )


def _checkpoint(checkpoint: RecordCheckpoint) -> h.Element:
    path = f"{CHECKPOINT}?chain={checkpoint.chain.value}&size={checkpoint.size}"
    label = f"Note over {count(checkpoint.size, 'link')} of {CHAIN_NAMES[checkpoint.chain]}"
    return h.tr[
        h.td(data_label="Chain")[CHAIN_NAMES[checkpoint.chain]],
        h.td(".number", data_label="Links")[f"{checkpoint.size:,}"],
        h.td(data_label="Signed")[moment(checkpoint.created_at)],
        h.td(data_label="Root")[h.code(title=checkpoint.root)[f"{checkpoint.root[:12]}…"]],
        h.td(data_label="File")[h.a(href=path, download=True, aria_label=label)["Note"]],
    ]


def proof_of(visit: Visit, chain: Chain, proof: RecordProof, about: h.Node) -> h.Element:
    """One link with its proof, and how it is checked elsewhere."""
    seq = proof.leaf_index
    file = f"{PROOF_FILE}?chain={chain.value}&seq={seq}"
    return h.div("#proof.made", role="status")[
        h.h3[f"Link {seq:,} of the chain of {CHAIN_NAMES[chain]} is on the record"],
        about,
        h.p[
            f"{count(len(proof.hashes), 'hash', 'hashes')} lead from this link to the root over "
            f"{count(proof.tree_size, 'link')} in the signed checkpoint below (RFC 6962, 2.1.1)."
        ],
        h.pre(".note-text", tabindex="0", role="region", aria_label="The signed checkpoint")[proof.checkpoint],
        h.p[h.a(href=file, download=True)["Download the proof as JSON"]],
        None if visit.signed_in.principal.program_ids is not None else _offline(),
    ]


def _offline() -> h.Element:
    return h.details[
        h.summary["Check it without this service"],
        h.ol[
            h.li["Download the whole record below, without days: a file record.ndjson."],
            h.li[
                "Download the public keys, ",
                h.a(href="/.well-known/jwks.json")["jwks.json"],
                ", and the note of a checkpoint, best one that you kept.",
            ],
            h.li[
                "Download ",
                h.a(href=SCRIPT, download="verify.py")["verify.py"],
                ": a page of Python to read, or to write yourself.",
            ],
            h.li[
                "Run ",
                h.code["python verify.py record.ndjson jwks.json NOTE"],
                ". It computes every hash again and says valid, or where the file is not.",
            ],
        ],
    ]
