"""Vectors that the benchmark of detection keeps between runs."""

from pathlib import Path

import msgspec
import pytest

from bench.detection import kept
from bench.detection.benchmark import run as detection
from bench.detection.kept import complete, kept_file
from bench.detection.vectors import write_vectors
from bench.harness import Asked, Run
from tests.bench.test_detection import a_folder, a_larger_folder


def a_checkout(folder: Path) -> Path:
    for name in (
        *("features/core/money.py", "features/scorers/engine.py", "features/detectors/flow.py"),
        *("bench/convert/amlsim.py", "bench/convert/notes.md"),
        *("bench/detection/data.py", "bench/detection/stream.py", "bench/detection/vectors.py"),
        *("bench/detection/report.py", "rows.csv.gz", "labels.csv.gz"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\n")
    return folder


@pytest.mark.parametrize(
    ("name", "measures_again"),
    [
        ("features/core/money.py", True),
        ("features/windows/new.py", True),
        ("features/scorers/engine.py", True),
        ("features/scorers/trs_v1/new.py", True),
        ("features/detectors/flow.py", False),
        ("bench/convert/amlsim.py", True),
        ("bench/convert/notes.md", False),
        ("bench/detection/stream.py", True),
        ("bench/detection/report.py", False),
        ("rows.csv.gz", True),
        ("labels.csv.gz", True),
    ],
)
def test_given_kept_vectors_when_a_file_changes_then_they_are_measured_again_if_it_is_behind_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, measures_again: bool
) -> None:
    folder = a_checkout(tmp_path)
    monkeypatch.setattr(kept, "CHECKOUT", folder)
    before, again, other = (
        kept_file(tmp_path, world, folder / "rows.csv.gz", folder / "labels.csv.gz")
        for world in ("amlsim", "amlsim", "paysim")
    )
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("changed\n")
    after = kept_file(tmp_path, "amlsim", folder / "rows.csv.gz", folder / "labels.csv.gz")

    assert before == again != other
    assert (before != after) == measures_again


def test_given_a_write_that_ends_early_then_there_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "amlsim-1.parquet"

    def written(content: bytes, *, ends: bool) -> None:
        with complete(path) as partial:
            partial.write_bytes(content)
            if ends:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written(b"half", ends=True)
    assert not path.exists()
    written(b"whole", ends=False)
    assert path.read_bytes() == b"whole"


@pytest.mark.parametrize("rows", [None, 60])
def test_given_a_folder_when_run_twice_then_the_second_run_reads_and_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int | None
) -> None:
    """A run of the first rows keeps its vectors apart from those of all rows."""
    monkeypatch.chdir(tmp_path)
    asked = Asked(by_name=True, data=a_folder(tmp_path), half="both", keep=tmp_path / "kept", sample=rows)
    measured = _counted(monkeypatch)

    first = list(detection(Run(asked)))
    files = sorted((tmp_path / "kept").iterdir())
    again = list(detection(Run(asked)))
    list(detection(Run(msgspec.structs.replace(asked, sample=70))))

    assert first == again
    assert len(files) == 1
    assert len(measured) == 2


def test_given_vectors_of_an_earlier_run_when_scored_anew_then_the_figures_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, asked = tmp_path / "vectors.parquet", Asked(by_name=True, data=a_larger_folder(tmp_path), half="last")

    of_rows = list(detection(Run(msgspec.structs.replace(asked, dump=path))))
    report = (tmp_path / ".bench" / "detection-amlsim-last.md").read_text()
    of_vectors = list(detection(Run(msgspec.structs.replace(asked, vectors=path))))

    assert of_vectors == of_rows
    assert (tmp_path / ".bench" / "detection-amlsim-last.md").read_text() == report
    assert "| isolation forest |" in report
    assert "| fitted card |" in report


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are written from here on."""
    written = list[Path]()

    def counting(path: Path, *rest: object) -> None:
        written.append(path)
        write_vectors(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("bench.detection.benchmark.write_vectors", counting)
    return written


def test_given_labels_of_which_no_card_can_be_made_when_run_then_it_is_said_and_the_other_rankings_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    list(detection(Run(Asked(by_name=True, data=a_folder(tmp_path), half="last"))))

    report = (tmp_path / ".bench" / "detection-amlsim-last.md").read_text()
    assert "no fitted card: No signal fired" in capsys.readouterr().err
    assert "| fitted card |" not in report
    assert "| isolation forest |" in report
