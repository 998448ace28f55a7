"""The labelled worlds: which files each is read from, and which converter makes bank events of it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.convert import amlsim, banks, personas, synthfin
from bench.convert.bank_rows import EventFiles
from clearhold.features.catalogue.vector import FEATURES
from clearhold.features.scorers.trs_v1 import flow, joint, relationship, shares


class World(NamedTuple):
    """``files`` is what the names of its two files begin with; ``what`` says what it is.

    ``left_out`` are signals that a fitted card may not weigh, since they are shortcuts of the generator, and
    ``left_out_fields`` those of the vector that trees may not see. ``target`` is the average precision that a fitted
    card has to reach.
    """

    name: str
    files: str
    convert: Callable[[Path, Path], EventFiles]
    what: str
    title: str
    target: float
    left_out: tuple[str, ...] = ()
    left_out_fields: tuple[str, ...] = ()

    @property
    def transfers(self) -> str:
        return f"{self.files}.transfers.csv.gz"

    @property
    def labels(self) -> str:
        return f"{self.files}.labels.csv.gz"

    def found_in(self, folder: Path) -> tuple[Path, Path]:
        """The transfers and their labels."""
        for name in (self.transfers, self.labels):
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder / name} is not there")
        return folder / self.transfers, folder / self.labels


COUNTS_AT_OTHERS: Final = (
    *(relationship.RARE_PAIR.id, relationship.SHARED.id),
    *(flow.FAN_IN.id, flow.FAN_OUT.id, flow.SCATTER_GATHER.id, flow.GATHER_SCATTER.id),
    *(shares.PAYEE_NEW_PAYERS.id, shares.PAYEE_OVER_USUAL.id, shares.FIRST_AFTER_FIRST.id, shares.PAYER_OVER_USUAL.id),
    *(shares.QUIET_PAIR.id, shares.QUIET_AMOUNT.id, shares.MIDDLES.id, shares.CHAIN.id),
    joint.FIRST_BY_NEWLY_PAID.id,
)
"""Signals that count who else deals with the other side."""

FIELDS_AT_OTHERS: Final = tuple(
    each.column
    for each in FEATURES
    if each.column.startswith(
        (
            *("fan_", "gathered_", "counterparty_", "payee_", "payer_", "program_rare_", "scatter_", "quiet_"),
            *("first_payee_", "first_payer_", "first_chain_", "first_middles_", "rarest_"),
        )
    )
)
"""Fields that count it, and how well the program knows it."""

AMLSIM: Final = World(
    *("amlsim", "amlsim", amlsim.convert, "accounts of four banks and slow laundering"),
    title="AMLSim",
    target=0.35,
)
PERSONAS: Final = World(
    *("personas", "personas-tune", personas.convert, "people and businesses, and frauds of minutes to hours"),
    title="People and businesses",
    target=0.90,
    left_out=COUNTS_AT_OTHERS,
    left_out_fields=FIELDS_AT_OTHERS,
)
SYNTHFIN: Final = World(
    *("synthfin", "synthfin-tune", synthfin.convert, "agents of one network, and chains of mules"),
    title="Agents and chains of mules",
    target=0.12,
)
AMLGENTEX: Final = World(
    *("amlgentex", "amlgentex-tune", banks.convert, "accounts of three banks and laundering over weeks"),
    title="Laundering over weeks",
    target=0.35,
)
SPARKOV: Final = World(
    *("sparkov", "sparkov-tune", partial(personas.convert, program="sparkov"), "card holders and stolen cards"),
    title="Stolen cards",
    target=0.60,
)
PAYSIM: Final = World(
    *("paysim", "paysim-tune", banks.convert, "mobile money and drained accounts"),
    title="Drained accounts",
    target=0.60,
)
WORLDS: Final = {world.name: world for world in (PERSONAS, SYNTHFIN, AMLSIM, AMLGENTEX, SPARKOV, PAYSIM)}
