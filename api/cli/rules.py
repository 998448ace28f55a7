"""``clearhold rules``: checks a bank's files of rules, compares them with the service, backtests them.

Exit codes  0 valid, or equal; 1 a file has faults or differs, or the service refused; 2 the command could not start:
            an unreadable file, no answer from the service, an unknown token
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clearhold.api.cli.options import EXIT_NOT_STARTED, Operator, Url, fail, note, token_option
from clearhold.api.cli.rule_files import read_rules
from clearhold.api.http.yaml_documents import FaultyFileError
from clearhold.client.answers import RefusedError, UnreachableError
from clearhold.client.client import ClearholdClient
from clearhold.features.core.measured import Measured
from clearhold.features.core.rules import MOST_DAYS, Backtest, FullBacktest, Rule, RuleStatus, rule_hash
from clearhold.features.rules.predicate import sentence_of

EXIT_WRONG: Final = 1
ANSWER_WITHIN_S: Final = 60.0
_UNKNOWN_TOKEN: Final = 401
_WIDTH: Final = 140
_BAR_WIDTH: Final = 40
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})

Token = Annotated[str, token_option("An API key of scope rules, or the operator token.")]
OperatorToken = Annotated[str, token_option("The operator token.")]
RuleFile = Annotated[Path, typer.Argument(help="A YAML or JSON file of rules.", metavar="FILE")]
NAME: Final = "clearhold rules"

rules = typer.Typer(no_args_is_help=True)


@rules.command("list")
def list_rules(url: Url, token: Token, operator: Operator = NAME) -> None:
    """List the rules of the service: status, action, severity, and the conditions in words."""
    with _service(url, token, operator) as service:
        rules = service.rules()
    if not rules:
        typer.echo("The service has no rules.")
        return
    table = _table("rule", "status", "action", "severity", "program", "when")
    for rule in rules:
        program = rule.program_id or "every one"
        table.add_row(*map(Text, (rule.id, rule.status, rule.action, rule.severity, program, sentence_of(rule))))
    _print(table)


@rules.command()
def check(file: RuleFile) -> None:
    """Check a file of rules without a service: every fault with its line, or in JSON its path."""
    rules = _rules_of(file)
    typer.echo(f"ok: {_count(len(rules), 'rule')}")


@rules.command()
def diff(file: RuleFile, url: Url, token: Token, operator: Operator = NAME) -> None:
    """Compare a file of rules with the service's, archived ones left out. Exit code 1 when they differ."""
    written = {rule.id: rule for rule in _rules_of(file)}
    with _service(url, token, operator) as service:
        stored = {rule.id: rule for rule in service.rules() if rule.status is not RuleStatus.ARCHIVED}
    lines = list(_differences(written, stored))
    for line in lines:
        typer.echo(line)
    if lines:
        raise typer.Exit(EXIT_WRONG)
    typer.echo(f"the same: {_count(len(written), 'rule')}")


@rules.command()
def backtest(
    rules: Annotated[str, typer.Argument(help="A YAML or JSON file of rules, or the id of one.", metavar="FILE|ID")],
    url: Url,
    token: OperatorToken,
    days: Annotated[int, typer.Option(help="How many days back.", min=1, max=MOST_DAYS)] = MOST_DAYS,
    full: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--full", help="Read every transfer of those days, not only the newest 1,000.")
    ] = False,
    write: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--write", help="First write the rules that are missing or different on the service.")
    ] = False,
    operator: Operator = NAME,
) -> None:
    """Backtest rules over the service's stored transfers, with their inputs at scoring. A draft goes into testing.

    The service must have a rule exactly as the file does, or --write.
    """
    file = Path(rules)
    of_file = file.suffix.lower() in _SUFFIXES or file.exists()
    written = _rules_of(file) if of_file else ()
    if of_file and not written:
        fail(f"{file} holds no rules.", EXIT_WRONG)
    if write and not of_file:
        fail("--write needs a file of rules, and this is the id of one.")
    with _service(url, token, operator) as service:
        _bring_over(service, written, write=write)
        rule_ids = [rule.id for rule in written] if of_file else [rules]
        results = [service.backtest_rule(rule_id, days=days, full=full) for rule_id in rule_ids]
    _print(_results(results))
    for result in results:
        if isinstance(result.full, FullBacktest):
            _print_weeks(result.rule_id, result.full)


def _bring_over(service: ClearholdClient, written: Sequence[Rule], *, write: bool) -> None:
    """Write the rules that are missing or different on the service, or refuse to backtest them."""
    known_ids = {rule.id for rule in service.rules()} if written else set()
    others: list[tuple[Rule, str | None]] = []
    for rule in written:
        stored, etag = service.rule(rule.id) if rule.id in known_ids else (None, None)
        if stored is None or rule_hash(stored) != rule_hash(rule):
            others.append((rule, etag))
    if others and not write:
        fail(
            f"Missing or different on the service: {', '.join(rule.id for rule, _ in others)}. "
            "clearhold rules diff shows the difference, --write writes the rules.",
            EXIT_WRONG,
        )
    for rule, etag in others:
        if etag is None:
            service.create_rule(rule)
        else:
            service.replace_rule(rule, etag=etag)


def _differences(written: dict[str, Rule], stored: dict[str, Rule]) -> Iterator[str]:
    for rule_id in sorted(written.keys() | stored.keys()):
        if rule_id not in stored:
            yield f"+ {rule_id}: in the file alone"
        elif rule_id not in written:
            yield f"- {rule_id}: on the service alone, {stored[rule_id].status}"
        elif rule_hash(written[rule_id]) != rule_hash(stored[rule_id]):
            yield f"~ {rule_id}: {stored[rule_id].status} on the service"
            yield from _changes(stored[rule_id], written[rule_id])


def _changes(stored: Rule, written: Rule) -> Iterator[str]:
    before, after = _fields(stored), _fields(written)
    for path in dict.fromkeys((*before, *after)):
        if before.get(path) != after.get(path):
            if path in before:
                yield f"  - {path}: {before[path]}"
            if path in after:
                yield f"  + {path}: {after[path]}"


def _fields(rule: Rule) -> dict[str, str]:
    """A rule as one JSON text for each of its fields, and for each of its conditions."""
    body: dict[str, Any] = msgspec.to_builtins(rule)
    del body["status"], body["id"]
    conditions = body.pop("when")
    body |= {f"when[{index}]": condition for index, condition in enumerate(conditions)}
    return {path: msgspec.json.encode(value).decode() for path, value in body.items()}


def _results(results: Iterable[Backtest]) -> Table:
    table = _table("rule", "scanned", "matched", "share", "would alert", "would hold", "in alerts", "bands", numbers=6)
    rows = [(result, _row(result)) for result in results]
    if any(isinstance(result.full, FullBacktest) for result, _ in rows):
        for heading in ("precision", "recall", "most a day"):
            table.add_column(heading, justify="right")
    for _, row in rows:
        table.add_row(*map(Text, row))
    return table


def _row(result: Backtest) -> list[str]:
    scanned = f"newest {result.scanned:,}" if result.sampled else f"{result.scanned:,}"
    counts = (result.matched, result.would_alert, result.would_hold, result.overlap_with_existing_alerts)
    matched, would_alert, would_hold, overlap = (f"{count:,}" for count in counts)
    bands = ", ".join(f"{band} {count:,}" for band, count in result.by_band.items() if count)
    row = [result.rule_id, scanned, matched, _percent(result.matched_share), would_alert, would_hold, overlap, bands]
    if isinstance(result.full, FullBacktest):
        most = result.full.volume_a_day.max
        row += [_measured(result.full.precision), _measured(result.full.recall), "-" if most is None else f"{most:,}"]
    return row


def _print_weeks(rule_id: str, full: FullBacktest) -> None:
    """A bar for each week, in proportion to its matches."""
    if not full.by_week:
        return
    most = max(week.matched for week in full.by_week)
    typer.echo(f"\n{rule_id}, matches by week")
    for week in full.by_week:
        typer.echo(
            f"{week.week}  {_bar(week.matched, most):{_BAR_WIDTH}}  {week.matched:,} of {week.scanned:,}".rstrip()
        )


def _bar(count: int, most: int) -> str:
    eighths = count * _BAR_WIDTH * 8 // most if most else 0
    if count and not eighths:
        eighths = 1
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _measured(share: Measured) -> str:
    if share.value is None or share.low is None or share.high is None:
        return "- of 0"
    return f"{100 * share.value:.0f} % ({100 * share.low:.0f} to {100 * share.high:.0f}) of {share.n:,}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _table(*headings: str, numbers: int = 0) -> Table:
    """``numbers`` headings after the first are of numbers."""
    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if 0 < place <= numbers else "left", overflow="fold")
    return table


def _print(table: Table) -> None:
    console = Console()
    (console if console.is_terminal else Console(width=_WIDTH)).print(table)


def _rules_of(file: Path) -> tuple[Rule, ...]:
    """The rules of a file; its faults end the command."""
    try:
        return read_rules(file)
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}.")
    except FaultyFileError as error:
        for fault in error.faults:
            line = "" if fault.line is None else f":{fault.line}"
            note(f"{file}{line}: {f'{fault.path} {fault.sentence}'.strip()}")
        fail(_count(len(error.faults), "fault"), EXIT_WRONG)


@contextmanager
def _service(url: str, token: str, operator: str) -> Iterator[ClearholdClient]:
    """The service; a refusal or a missing answer ends the command."""
    with ClearholdClient(url, token=token, operator=operator, max_tries=1, timeout_s=ANSWER_WITHIN_S) as client:
        try:
            yield client
        except RefusedError as error:
            fail(str(error), EXIT_NOT_STARTED if error.status == _UNKNOWN_TOKEN else EXIT_WRONG)
        except UnreachableError as error:
            fail(str(error))


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
