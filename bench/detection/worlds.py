"""The labelled worlds: which files each is read from, and which converter makes bank events of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from bench.convert import amlsim, personas, synthfin
from bench.convert.bank_rows import EventFiles
from clearhold.features.scorers.trs_v1 import flow, relationship


class World(NamedTuple):
    """``files`` is what the names of its two files begin with; ``what`` says what it is.

    ``left_out`` are signals that a fitted card may not weigh, since they are shortcuts of the generator. ``target`` is
    the average precision that a fitted card has to reach.
    """

    name: str
    files: str
    convert: Callable[[Path, Path], EventFiles]
    what: str
    title: str
    target: float
    left_out: tuple[str, ...] = ()

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
)
"""Signals that count who else deals with the other side."""

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
)
SYNTHFIN: Final = World(
    *("synthfin", "synthfin-tune", synthfin.convert, "agents of one network, and chains of mules"),
    title="Agents and chains of mules",
    target=0.12,
)
WORLDS: Final = {world.name: world for world in (PERSONAS, SYNTHFIN, AMLSIM)}
