"""``clearhold config``: the settings of a bank as files in its own git, planned and applied as one change.

Exit codes  0 no changes, or applied; 1 a file has faults, or the service refused; 2 the command could not start: an
            unreadable directory, no answer from the service, an unknown token; 3 there are changes, or an application
            waits for another person
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import msgspec
import typer

from clearhold.api.cli.config_files import ConfigDirError, ReadConfig, read_config, write_config
from clearhold.api.cli.options import EXIT_NOT_STARTED, Operator, Url, fail, note, token_option
from clearhold.api.cli.rule_files import line_of
from clearhold.client.answers import RefusedError, UnreachableError
from clearhold.client.client import ClearholdClient
from clearhold.features.configuration.files import SCHEMA, ConfigFile, config_sha256, normal_files
from clearhold.store.ids import new_token

EXIT_WRONG: Final = 1
EXIT_CHANGES: Final = 3
ANSWER_WITHIN_S: Final = 120.0
NAME: Final = "clearhold config"
_UNKNOWN_TOKEN: Final = 401
_PLACE: Final = re.compile(r"files\[(\d+)\]\.(?:value\.)?([^\s;]*)")
_SIGNS: Final = {"added": "+", "changed": "~", "removed": "-"}

OperatorToken = Annotated[str, token_option("The operator token.")]
Folder = Annotated[Path, typer.Argument(help="The directory of the configuration.", metavar="DIR", file_okay=False)]

config = typer.Typer(no_args_is_help=True)


@config.command()
def export(folder: Folder, url: Url, token: OperatorToken, operator: Operator = NAME) -> None:
    """Write the configuration in force into a directory; files of an earlier export that are not in it are removed.

    Refused where the folders of a configuration have other files.
    """
    with _service(url, token, operator) as service:
        exported = service.config()
    files = msgspec.convert(exported["files"], tuple[ConfigFile, ...])
    _write_into(folder, exported["tenant"], files)
    typer.echo(f"{len(files)} files, digest {exported['sha256']}")


@config.command()
def check(folder: Folder) -> None:
    """Check a directory without a service: every fault with its file and line; its digest, which the record names."""
    read = _config_of(folder)
    files = normal_files(read.files)
    typer.echo(f"ok: {len(read.files)} files of {read.tenant}, digest {config_sha256(read.tenant, files)}")


@config.command("format")
def format_files(folder: Folder) -> None:
    """Rewrite the files of a directory as an export writes them, without a service. Comments are lost."""
    read = _config_of(folder)
    files = normal_files(read.files)
    _write_into(folder, read.tenant, files)
    typer.echo(f"{len(files)} files, digest {config_sha256(read.tenant, files)}")


@config.command()
def plan(
    folder: Folder,
    url: Url,
    token: OperatorToken,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,  # noqa: FBT002 - a flag
    operator: Operator = NAME,
) -> None:
    """Show the changes from the configuration in force to the directory. Nothing is written.

    Exit code 0 without changes, 3 with changes, 1 for faults and refusals.
    """
    read = _config_of(folder)
    with _service(url, token, operator, read) as service:
        planned = service.send_config("plan", _body_of(read))
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(planned), indent=2).decode())
    else:
        _print_plan(planned)
    if planned["changes"]:
        raise typer.Exit(EXIT_CHANGES)


@config.command()
def apply(
    folder: Folder,
    url: Url,
    token: OperatorToken,
    base: Annotated[
        str | None, typer.Option(help="The base digest of the plan that was reviewed. Without it, a plan is made now.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why, for the record, such as the commit.")] = None,
    operator: Operator = NAME,
) -> None:
    """Apply a directory as one change on the record. Another person approves it where a change needs that.

    Exit code 0 when it is in force or nothing changes, 3 when it waits for another person, 1 for faults and refusals.
    """
    read = _config_of(folder)
    with _service(url, token, operator, read) as service:
        if base is None:
            base = service.send_config("plan", _body_of(read))["baseSha256"]
        request = _body_of(read) | {"baseSha256": base, "note": reason}
        applied = service.send_config("apply", request, key=new_token("config_"))
    _print_plan(applied)
    action = applied["action"]
    if action is None:
        return
    if action["status"] == "requested":
        typer.echo(f"\nThe action {action['id']} waits for the approval of another person. Nothing is in force yet.")
        raise typer.Exit(EXIT_CHANGES)
    if action["status"] != "executed":
        fail(f"The action {action['id']} {action['status']}: {action['error']}", EXIT_WRONG)
    typer.echo(f"\nIn force as {action['bankResponse']['version']}, by the action {action['id']}.")


def _print_plan(planned: Mapping[str, Any]) -> None:
    for change in planned["changes"]:
        second = " (needs a second person)" if change["needsSecondPerson"] else ""
        typer.echo(f"{_SIGNS[change['change']]} {change['path']}{second}")
        for field in change["fields"]:
            before, after = (_text(field, name) for name in ("before", "after"))
            typer.echo(f"    {field['field']}: {before} -> {after}")
        if change["backtest"] is not None:
            typer.echo(f"    {_backtest(change['backtest'])}")
        if change["dryRun"] is not None:
            typer.echo(f"    {_dry_run(change['dryRun'])}")
    if not planned["changes"]:
        typer.echo("No changes.")
    count = len(planned["changes"])
    if count:
        typer.echo(f"\n{count} {'file changes' if count == 1 else 'files change'}.")
    typer.echo(f"base   {planned['baseSha256']}\nconfig {planned['configSha256']}")


def _text(field: Mapping[str, Any], name: str) -> str:
    return msgspec.json.encode(field[name]).decode() if name in field else "(none)"


def _backtest(figures: Mapping[str, Any]) -> str:
    scanned = f"the newest {figures['scanned']:,}" if figures["sampled"] else f"{figures['scanned']:,}"
    return (
        f"backtest over 90 days: matches {figures['matched']:,} of {scanned} transfers, would alert on "
        f"{figures['wouldAlert']:,} and hold {figures['wouldHold']:,}; {figures['overlapWithExistingAlerts']:,} had "
        "an alert"
    )


def _dry_run(figures: Mapping[str, Any]) -> str:
    newest = "the newest " if figures["limitReached"] else ""
    left_out = sum(each["alerts"] for each in figures["notConsidered"])
    return (
        f"dry run over {figures['days']} days: routes {figures['otherwise']:,} of {newest}{figures['alerts']:,} alerts "
        f"otherwise and {figures['same']:,} the same; {left_out:,} not considered"
    )


def _body_of(read: ReadConfig) -> dict[str, Any]:
    return {"schema": SCHEMA, "tenant": read.tenant, "files": read.files}


def _config_of(folder: Path) -> ReadConfig:
    """The configuration of a directory; its faults end the command."""
    try:
        return read_config(folder)
    except OSError as error:
        fail(f"{folder} cannot be read: {error.strerror}.")
    except ConfigDirError as error:
        _fail_with(folder, error)


def _write_into(folder: Path, tenant: str, files: Iterable[ConfigFile]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_config(folder, tenant, files)
    except OSError as error:
        fail(f"{folder} cannot be written: {error.strerror}.")
    except ConfigDirError as error:
        _fail_with(folder, error)


def _fail_with(folder: Path, error: ConfigDirError) -> NoReturn:
    for fault in error.faults:
        note(f"{folder}/{fault}")
    fail(f"{len(error.faults)} fault{'' if len(error.faults) == 1 else 's'}. Nothing was changed.", EXIT_WRONG)


@contextmanager
def _service(url: str, token: str, operator: str, read: ReadConfig | None = None) -> Iterator[ClearholdClient]:
    """The service; a refusal or a missing answer ends the command."""
    with ClearholdClient(url, token=token, operator=operator, max_tries=1, timeout_s=ANSWER_WITHIN_S) as client:
        try:
            yield client
        except RefusedError as error:
            sentence = str(error) if read is None else _with_places(str(error), read)
            fail(sentence, EXIT_NOT_STARTED if error.status == _UNKNOWN_TOKEN else EXIT_WRONG)
        except UnreachableError as error:
            fail(str(error))


def _with_places(sentence: str, read: ReadConfig) -> str:
    """A refusal with files and lines in place of the paths in the request."""

    def place(match: re.Match[str]) -> str:
        path, field = read.files[int(match[1])].path, match[2]
        line = line_of(field, read.lines[path])
        return f"{path}{'' if line is None else f':{line}'}: {'' if field == 'path' else field}".rstrip()

    return _PLACE.sub(place, sentence)
