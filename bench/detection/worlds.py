"""The labelled worlds: which files each is read from, and which converter makes bank events of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from bench.convert import amlsim, personas, synthfin
from bench.convert.bank_rows import EventFiles


class World(NamedTuple):
    """``files`` is what the names of its two files begin with; ``what`` says what it is."""

    name: str
    files: str
    convert: Callable[[Path, Path], EventFiles]
    what: str

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


AMLSIM: Final = World("amlsim", "amlsim", amlsim.convert, "accounts of four banks and slow laundering")
WORLDS: Final = {
    world.name: world
    for world in (
        AMLSIM,
        World("personas", "personas-tune", personas.convert, "people and businesses, and frauds of minutes to hours"),
        World("synthfin", "synthfin-tune", synthfin.convert, "agents of one network, and chains of mules"),
    )
}
