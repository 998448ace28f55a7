"""Vectors that are kept between runs: in a folder, a file for each world, and for the code and the data that made it.

Name   the world, and a digest of its rows and labels and of the code between them and the vectors: the scorers
       too, since a vector names the signals that are common in the program. Detectors only read vectors
Write  a file is complete or is not there
"""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from bench.service import CHECKOUT

_READ_VECTORS: Final = ("detectors",)
_OF_BENCHMARK: Final = ("detection/data.py", "detection/stream.py", "detection/vectors.py")
_DIGITS: Final = 12


def kept_file(folder: Path, world: str, source: Path, labels: Path) -> Path:
    """Where the vectors of these rows are kept, whether they are there or not."""
    digest = sha256()
    for path in (*_code(), source, labels):
        digest.update(sha256(path.read_bytes()).digest())
    return folder / f"{world}-{digest.hexdigest()[:_DIGITS]}.parquet"


@contextmanager
def complete(path: Path) -> Iterator[Path]:
    """A path to write to; the file has its own name once the writing is done."""
    partial = path.with_suffix(".partial")
    yield partial
    partial.replace(path)


def _code() -> Iterator[Path]:
    features, benchmark = CHECKOUT / "features", CHECKOUT / "bench"
    for path in sorted(features.rglob("*.py")):
        if path.relative_to(features).parts[0] not in _READ_VECTORS:
            yield path
    yield from sorted((benchmark / "convert").glob("*.py"))
    yield from (benchmark / name for name in _OF_BENCHMARK)
