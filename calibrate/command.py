"""``clearhold calibrate``: points for a scorecard, fitted to matured labels, with the report that a bank files on them.

The scorings come from the data directory of a stopped service (or a copy of it), or from a Parquet file. What fits is
an extra, ``clearhold[calibrate]``, which nothing else loads.

Exit codes  0 a card and its report are written, whatever the report warns of; 1 no card can be made of these labels;
            2 the command could not start: an extra that is not installed, a file that cannot be read, an unknown option
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from clearhold.calibrate.request import DEFAULT_VOLUME, CalibrationOutcome, NoCardError, Request, UnknownSignalError
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.scorecards import Scorecard
from clearhold.features.policy.bodies import SCORECARD, ScorecardBody
from clearhold.features.scorers.cards import DEFAULTS, compile_card, faults_of, read_card
from clearhold.features.scorers.engine import CompiledCard
from clearhold.store.clock import SystemClock
from clearhold.store.errors import StartupError
from clearhold.store.given_files import read_given

if TYPE_CHECKING:
    import duckdb

EXIT_NO_CARD: Final = 1
EXIT_NOT_STARTED: Final = 2
SCORER: Final = "trs"
_OF_EXTRA: Final = frozenset({"scipy", "sklearn", "threadpoolctl"})
_DATABASE: Final = "clearhold.duckdb"
_MISSING: Final = "clearhold calibrate needs the extra: pip install 'clearhold[calibrate]'."
_STOPPED: Final = "Name the directory of a service that is stopped, or a copy that clearhold backup made."
_EARLIEST, _LATEST = 0.3, 0.9
_LEAST_VOLUME, _MOST_VOLUME = 1.0, 1_000.0

Out = Annotated[Path, typer.Option(help="Folder for card.json, report.json and report.html.", file_okay=False)]
Data = Annotated[
    Path | None, typer.Option(help="Data directory of a stopped service, or a copy of one.", file_okay=False)
]
Vectors = Annotated[
    Path | None, typer.Option(help="Parquet file of scorings with labels, instead of --data.", dir_okay=False)
]
Tenant = Annotated[str | None, typer.Option(help="Id of the tenant, if --data has several.")]
Programs = Annotated[list[str] | None, typer.Option(help="Id of a program; may be repeated. Default: all real ones.")]
ChampionFile = Annotated[
    Path | None,
    typer.Option(help="Card file to compare with. Default: the one in force, of --data.", dir_okay=False),
]
CardFile = Annotated[
    Path | None, typer.Option(help="Card file to report on as it is: nothing is fitted.", dir_okay=False)
]
Name = Annotated[str | None, typer.Option(help="Name of the card. Default: the time up to which it is fitted.")]
Split = Annotated[
    float,
    typer.Option(help="Share of the labelled time that is fitted; the rest proves it.", min=_EARLIEST, max=_LATEST),
]
Volume = Annotated[
    float,
    typer.Option(help="The most transfers of 1,000 in review and hold together.", min=_LEAST_VOLUME, max=_MOST_VOLUME),
]
LeftOut = Annotated[list[str] | None, typer.Option(help="Id of a signal that gets no points; may be repeated.")]
Now = Annotated[
    str | None,
    typer.Option(help="Instant of the run, such as 2026-09-01T00:00:00Z: labels and scorings up to it count."),
]


def calibrate(
    out: Out,
    data: Data = None,
    vectors: Vectors = None,
    tenant: Tenant = None,
    program: Programs = None,
    champion: ChampionFile = None,
    card: CardFile = None,
    name: Name = None,
    split: Split = 0.6,
    volume: Volume = DEFAULT_VOLUME,
    leave_out: LeftOut = None,
    now: Now = None,
) -> None:
    """The card is fitted to the first part of the labelled time and judged on the rest. With --card that card is
    reported on as it is. Nothing is activated: propose the card, and send the report with it.
    """
    if (data is None) == (vectors is None):
        _fail("Name either --data or --vectors.")
    at = SystemClock().now() if now is None else parse_instant(now)
    if at is None:
        _fail("--now must be a date-time such as 2026-09-01T00:00:00Z.")
    if card is not None and (name is not None or leave_out):
        _fail("--card reports on a card as it is; it goes with neither --name nor --leave-out.")
    if name is not None and any(faults_of(msgspec.structs.replace(DEFAULTS[SCORER].card, name=name))):
        _fail("--name must have 1 to 200 characters, none of them a control character.")
    request = Request(
        champion=DEFAULTS[SCORER] if champion is None else _compiled(_card_in(champion), None),
        card=None if card is None else _card_in(card),
        name=name,
        split=split,
        leave_out=tuple(leave_out or ()),
        now=at,
        programs=tuple(sorted(set(program or ()))),
        source="" if vectors is None else f"Parquet file {vectors.name}",
        volume=volume,
        options=_options({"--vectors": vectors, "--card": card, "--champion": champion}),
    )
    _check_folder(out)
    _write(out, _outcome(request, data, vectors, tenant, is_champion_named=champion is not None))


def _outcome(
    request: Request, data: Path | None, vectors: Path | None, tenant: str | None, *, is_champion_named: bool
) -> CalibrationOutcome:
    """The result; a reason against it ends the command."""
    import duckdb

    from clearhold.store.duck.scorings.labelled import LabelledScorings

    try:
        from clearhold.calibrate import run  # an extra, which the service never loads
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OF_EXTRA:
            raise
        _fail(_MISSING)
    try:
        with closing(_connection(data)) as connection, _progress() as progress:
            if vectors is not None:
                scorings = LabelledScorings.of_file(connection, vectors, request.programs, request.now)
            else:
                tenant_id = _tenant(connection, tenant)
                champion = request.champion if is_champion_named else _in_force(connection, tenant_id, request.programs)
                options = ("--data", "DIR", "--tenant", tenant_id, *request.options)
                request = request._replace(champion=champion, source=f"tables of tenant {tenant_id}", options=options)
                scorings = LabelledScorings.of_tenant(connection, tenant_id, request.programs, request.now)
            return run.calibrate(request, scorings, progress)
    except (StartupError, UnknownSignalError) as error:
        _fail(str(error))
    except duckdb.Error as error:
        cure = "a service of this version updates its tables at its start" if vectors is None else "the file is damaged"
        _fail(f"The scorings cannot be read; {cure}: {error}")
    except NoCardError as error:
        for reason in error.reasons:
            typer.echo(reason, err=True)
        _fail(f"No {'card' if request.card is None else 'report'} can be made of these labels.", EXIT_NO_CARD)


def _options(files: dict[str, Path | None]) -> tuple[str, ...]:
    """Files by their names only: a report does not show its readers their folders."""
    return tuple(word for option, file in files.items() if file is not None for word in (option, file.name))


def _compiled(card: Scorecard | None, version: str | None) -> CompiledCard[FeatureVector]:
    """The default card for None; one that no service has numbered goes by its name."""
    default = DEFAULTS[SCORER]
    return default if card is None or card == default.card else compile_card(card, version=version or card.name)


def _in_force(
    connection: "duckdb.DuckDBPyConnection", tenant_id: str, programs: Sequence[str]
) -> CompiledCard[FeatureVector]:
    """The card that scores the transfers of these programs."""
    from clearhold.store.duck.inputs import PolicyTable

    cards: dict[str | None, Scorecard | None] = {}
    for each in PolicyTable(connection).newest(tenant_id, SCORECARD):
        if not programs or each.program_id in programs:
            card = None if each.body is None else msgspec.json.decode(each.body, type=ScorecardBody).card
            cards[None if card is None else each.version] = card
    if len(cards) > 1:
        listed = ", ".join(sorted(version or DEFAULTS[SCORER].version for version in cards))
        cure = "name programs of one with --program, or the card to compare with by --champion"
        raise StartupError(f"The programs have different cards in force ({listed}): {cure}.")
    version, card = next(iter(cards.items()), (None, None))
    for fault in () if card is None else faults_of(card):
        raise StartupError(f"This version cannot score with the card {version}: {fault.path} {fault.sentence}.")
    return _compiled(card, version)


def _card_in(file: Path) -> Scorecard:
    """The card of a file; its faults end the command."""
    try:
        card, faults = read_card(read_given(file))
    except OSError as error:
        _fail(f"{file} cannot be read: {error.strerror}.")
    for fault in faults:
        typer.echo(f"{file}: {fault.path} {fault.sentence}", err=True)
    if card is None or faults or card.scorer != SCORER:
        _fail(f"{file} is no card of {SCORER}.")
    return card


def _connection(data: Path | None) -> "duckdb.DuckDBPyConnection":
    import duckdb

    from clearhold.store.duck.database import open_to_read

    if data is None:
        return duckdb.connect(config={"threads": 1})
    try:
        return open_to_read(data / _DATABASE)
    except StartupError as error:
        raise StartupError(f"{error} {_STOPPED}") from error


def _tenant(connection: "duckdb.DuckDBPyConnection", tenant: str | None) -> str:
    from clearhold.store.duck.scorings.labelled import tenants_in

    tenants = tenants_in(connection)
    if tenant is None and len(tenants) != 1:
        listed = ", ".join(tenants) or "none"
        raise StartupError(f"Name the tenant with --tenant; there are scorings of: {listed}.")
    if tenant is not None and tenant not in tenants:
        raise StartupError(f"There are no scorings of this tenant; there are of: {', '.join(tenants) or 'none'}.")
    return tenant or tenants[0]


@contextmanager
def _progress() -> Iterator[Progress]:
    """Bars at a terminal, nothing elsewhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        yield progress


def _check_folder(out: Path) -> None:
    """Before the work, whether its files can be written when it is done."""
    ancestor = next(each for each in (out.absolute(), *out.absolute().parents) if each.exists())
    if not ancestor.is_dir() or not os.access(ancestor, os.W_OK | os.X_OK):
        _fail(f"{out} cannot be written: {ancestor} is no folder that this user may write to.")


def _write(out: Path, outcome: CalibrationOutcome) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "card.json").write_bytes(outcome.card_json)
        (out / "report.json").write_bytes(outcome.report_json)
        (out / "report.html").write_bytes(outcome.page)
    except OSError as error:
        _fail(f"{out} cannot be written: {error.strerror}.")
    for line in outcome.summary:
        typer.echo(line)
    typer.echo(f"Written: {out / 'card.json'}, {out / 'report.json'}, {out / 'report.html'}")


def _fail(sentence: str, code: int = EXIT_NOT_STARTED) -> NoReturn:
    typer.echo(sentence, err=True)
    raise typer.Exit(code)
