"""The configuration as a whole: its files, the plan of a change of them, and the request of that change."""

import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import htpy as h
import msgspec
from anyio import to_thread

from clearhold.api.config.files import request_failures
from clearhold.api.config.schemas import (
    BacktestFigures,
    Config,
    ConfigApplication,
    ConfigPlan,
    NewConfig,
    PlannedChange,
)
from clearhold.api.config.yaml_text import HEAD, body_text, written_file, written_head
from clearhold.api.console.components.dry_runs import dry_run_view
from clearhold.api.console.components.settings import CONFIGURATION, done, refusal, settings_frame
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import count, outsider
from clearhold.api.console.typed_yaml import typed_yaml
from clearhold.api.console.visit import Answer, FileAnswer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.features.configuration.changes import FieldDifference
from clearhold.features.configuration.files import ConfigFile
from clearhold.features.core.errors import ErrorCode, FieldCode, NotFoundError, RiskError, invalid

PATH: Final = CONFIGURATION
LONGEST_PATH: Final = 200
PLAN: Final = f"{PATH}/plan"
ARCHIVE: Final = f"{PATH}/archive"
_NEW: Final = RequestSchema(NewConfig, rules=request_failures)
_APPLICATION: Final = RequestSchema(ConfigApplication, rules=request_failures)
_PLACE: Final = re.compile(r"files\[(\d+)\](?:\.(?:path|value))?")
_BEGIN: Final = (1980, 1, 1, 0, 0, 0)  # the first instant of a ZIP file, so that the same files are the same bytes
_DONE: Final = {
    "requested": "Requested. Nothing is in force until another person has approved it.",
    "executed": "In force. No part of it needed a second person.",
    "same": "Nothing differs from the configuration in force, so nothing was requested.",
}


class FileText(NamedTuple):
    """A file as YAML. A card takes 100 ms, so it is written in a thread."""

    path: str
    text: str


class Planned(NamedTuple):
    """``typed`` is the text as the person wrote it."""

    typed: str
    plan: ConfigPlan


async def show(visit: Visit) -> Answer:
    """All files by name; the text of the one that the query names, and of one to change in the form."""
    config = await visit.services.config.export(visit.principal)
    values, read, changed = {each.path: each.value for each in config.files}, *map(visit.query.get, ("file", "change"))
    for path in (read, changed):
        if path is not None and path not in values:
            raise NotFoundError("The configuration has no such file.", ErrorCode.PATH_NOT_FOUND)
    typed = "" if changed is None else await to_thread.run_sync(body_text, {changed: values[changed]})
    text = None if read is None else FileText(read, await to_thread.run_sync(body_text, values[read]))
    return _page(visit, config, typed, read=text)


async def archive(visit: Visit) -> Answer:
    """The directory that ``clearhold config export`` writes, packed; each file is written in a thread."""
    config = await visit.services.config.export(visit.principal)
    packed = BytesIO()
    with ZipFile(packed, "w") as file:
        file.writestr(ZipInfo(HEAD, _BEGIN), written_head(config.tenant), ZIP_DEFLATED)
        for each in config.files:
            content = await to_thread.run_sync(written_file, each.value)
            file.writestr(ZipInfo(each.path, _BEGIN), content, ZIP_DEFLATED)
    name = f"configuration-{config.tenant}-{config.sha256[:12]}.zip"
    return FileAnswer(name, packed.getvalue(), "application/zip")


async def plan(visit: Visit) -> Answer:
    """What the typed files would change. Nothing is written."""
    config = await visit.services.config.export(visit.principal)
    typed, whole = visit.form.get("files", ""), dict[str, Any]()
    try:
        whole = await _merged(config, typed)
        new, _ = _NEW.decode(msgspec.json.encode(whole))
        planned = await visit.services.config.plan(visit.principal, new)
    except RiskError as error:
        return _refused(visit, config, error, whole)
    return _page(visit, config, typed, planned=Planned(typed, planned))


async def apply(visit: Visit) -> Answer:
    """Request the change that was planned; refused if the configuration in force has changed since."""
    config = await visit.services.config.export(visit.principal)
    typed, whole = visit.form.get("files", ""), dict[str, Any]()
    try:
        whole = await _merged(config, typed)
        body = whole | {
            "baseSha256": visit.form.get("base", ""),
            "note": visit.form.get("note", "").strip() or None,
        }
        application, _ = _APPLICATION.decode(msgspec.json.encode(body))
        applied = await visit.services.config.apply(visit.principal, application, visit.effect_id())
    except RiskError as error:
        return _refused(visit, config, error, whole)
    outcome = "same" if applied.action is None else applied.action.status.value
    if outcome not in _DONE:
        sentence = f"The change was {outcome}: {applied.action.error if applied.action else ''}"
        return _page(visit, config, typed, refused=sentence)._replace(status=409)
    return RedirectAnswer(f"{PATH}?done={outcome}")


def _refused(visit: Visit, config: Config, error: RiskError, whole: Mapping[str, Any]) -> HtmlAnswer:
    """With each file's path in place of its number in the request."""
    files = whole.get("files", [])
    sentence = _PLACE.sub(
        lambda place: files[int(place[1])]["path"] if int(place[1]) < len(files) else place[0], str(error)
    )
    page = _page(visit, config, visit.form.get("files", ""), refused=sentence)
    return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))


async def _merged(config: Config, typed: str) -> dict[str, Any]:
    """The whole configuration: the typed files in place of those in force; a file with no value is removed."""
    files = {each.path: each.value for each in config.files}
    for path, value in (await _typed_files(typed)).items():
        if value is None:
            if path not in files:
                raise invalid("files", f"has {path!a} without a value, and there is no such file", FieldCode.NOT_ONE_OF)
            del files[path]
        else:
            files[path] = value
    listed = [{"path": path, "value": value} for path, value in sorted(files.items())]
    return {"schema": config.schema, "tenant": config.tenant, "files": listed}


async def _typed_files(typed: str) -> Mapping[str, Any]:
    value = await typed_yaml(typed, "files", longest_key=LONGEST_PATH)
    if not isinstance(value, dict) or not value:
        raise invalid("files", "must name at least one file, with its settings below it", FieldCode.REQUIRED)
    return value


def _page(
    visit: Visit,
    config: Config,
    typed: str,
    *,
    read: FileText | None = None,
    refused: str | None = None,
    planned: Planned | None = None,
) -> HtmlAnswer:
    """``read`` is the file whose text is there."""
    writes = not visit.signed_in.is_read_only
    content = settings_frame(
        visit,
        h.h1["Configuration"],
        done(visit, _DONE) if refused is None and planned is None else None,
        h.p[
            "All settings of this bank as files: rules, policies, cards, limits and webhook endpoints, ",
            "without secrets. The same files live in the bank's own git by ",
            h.code["clearhold config export"],
            ", ",
            h.code["plan"],
            " and ",
            h.code["apply"],
            ".",
        ],
        h.p[
            f"In force: {count(len(config.files), 'file')} of {config.tenant}, digest ",
            h.code(".digest")[config.sha256],
            ". ",
            h.a(href=ARCHIVE, download=True)["Download the files"],
        ],
        _plan_of(visit, planned) if planned is not None else None,
        _form(visit, typed, refused) if writes else None,
        h.section("#files")[
            h.h2["Files in force"],
            h.ul(".plain")[(_file(each, read, writes=writes) for each in config.files)],
        ],
    )
    return HtmlAnswer("Configuration", content)


def _file(file: ConfigFile, read: FileText | None, *, writes: bool) -> h.Element:
    """A link to its text; where that is read, the text."""
    if read is None or read.path != file.path:
        return h.li[h.a(href=_address("file", file.path))[h.code[outsider(file.path, most=None)]]]
    return h.li("#file")[
        h.h3[h.code[outsider(file.path, most=None)]],
        h.pre(tabindex="0", role="region", aria_label=file.path)[outsider(read.text, most=None)],
        h.p[h.a(href=_address("change", file.path))["Change this file"]] if writes else None,
    ]


def _address(part: str, path: str) -> str:
    """The page with this part of it for a file."""
    return f"{PATH}?{urlencode({part: path}, safe='/')}#{part}"


def _form(visit: Visit, typed: str, refused: str | None) -> h.Element:
    lines = typed.count("\n")
    return h.section("#change.asks")[
        h.h2["Plan a change"],
        visit.form_of(
            PLAN,
            refusal(refused),
            h.label[
                "Files, as YAML or JSON",
                h.textarea(name="files", rows=str(min(24, max(8, lines + 3))), spellcheck="false", required=True)[
                    typed
                ],
            ],
            h.p(".small")[
                "Each file by its path, with its settings below it. A file that is named here takes the place of ",
                "the one in force, ",
                h.code["null"],
                " removes it, and all others stay as they are.",
            ],
            h.button(".main", type="submit")["Plan"],
        ),
    ]


def _plan_of(visit: Visit, planned: Planned) -> h.Element:
    plan = planned.plan
    if not plan.changes:
        return h.section("#plan")[
            h.h2["The plan"], h.p(role="status")["Nothing differs from the configuration in force."]
        ]
    programs = {each.id: each.name for each in visit.services.programs.list(visit.principal, source=None)}
    needs = "It waits for another person." if plan.needs_second_person else "No part of it needs a second person."
    return h.section("#plan")[
        h.h2["The plan"],
        h.p(role="status")[f"{count(len(plan.changes), 'file differs', 'files differ')}. {needs}"],
        [_change(each, programs) for each in plan.changes],
        visit.form_of(
            PATH,
            h.input(type="hidden", name="files", value=planned.typed),
            h.input(type="hidden", name="base", value=plan.base_sha256),
            h.label["Why", h.textarea(name="note", rows="2", required=True)[visit.form.get("note", "")]],
            h.p(".small")[
                "The digest afterwards: ",
                h.code(".digest")[plan.config_sha256],
                ". The change is one action on the record.",
            ],
            h.button(".main", type="submit")["Request this change"],
        )
        if not visit.signed_in.is_read_only
        else None,
    ]


def _change(change: PlannedChange, programs: Mapping[str, str]) -> h.Element:
    heads = ("Field", "In force", "Afterwards")
    return h.section(".planned")[
        h.h3[h.code[outsider(change.path, most=None)], f" {change.change.value}"],
        wide_table(
            f"Fields of {change.path}",
            heads,
            (
                h.tr[
                    h.th(scope="row")[h.code[outsider(each.field, most=None)]],
                    h.td(".words", data_label=heads[1])[_side(each, "before")],
                    h.td(".words", data_label=heads[2])[_side(each, "after")],
                ]
                for each in change.fields
            ),
            style="endpoints",
        )
        if change.fields
        else None,
        h.p[_backtest(change.backtest)] if change.backtest is not None else None,
        None if change.dry_run is None else dry_run_view(change.dry_run, programs),
        h.p(".small")["Needs a second person." if change.needs_second_person else "Needs one person."],
    ]


def _side(difference: FieldDifference, side: str) -> h.Node:
    value = getattr(difference, side)
    return "none" if value is msgspec.UNSET else outsider(msgspec.json.encode(value).decode(), most=None)


def _backtest(figures: BacktestFigures) -> str:
    scanned = f"the newest {figures.scanned:,}" if figures.sampled else f"{figures.scanned:,}"
    return (
        f"Backtest over 90 days: it matches {figures.matched:,} of {scanned} transfers, would have opened "
        f"{count(figures.would_alert, 'alert')} and held {count(figures.would_hold, 'transfer')}; "
        f"{figures.overlap_with_existing_alerts:,} had an alert already."
    )
