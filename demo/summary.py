"""The output: a live panel on a terminal, plain lines elsewhere, and the next steps."""

import json
import shlex

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from clearhold.demo.board import Figures, Hold
from clearhold.demo.stage import OPERATOR, Stage

BANDS = ("clear", "review", "hold", "unscored", "not yet")
DECISIONS = ("clear", "review", "hold")
SHOWN_REASONS = 2


def panel(figures: Figures, *, title: str) -> Panel:
    return Panel(Group(_counts(figures), Text(), _bands(figures), Text(), _holds(figures)), title=title)


def plain(figures: Figures) -> str:
    """The same figures on one line, for logs."""
    return " | ".join(
        [
            f"events {figures.accepted:,} accepted, {figures.duplicates:,} duplicates",
            *(
                f"{program}: " + ", ".join(f"{band} {counts[band]:,}" for band in BANDS if counts.get(band))
                for program, counts in figures.bands.items()
            ),
            "pre-flights " + ", ".join(f"{name} {figures.decisions.get(name, 0)}" for name in DECISIONS),
            f"pre-flight {_ms(figures.preflight_ms)}",
            f"event to score {_ms(figures.scored_ms)}",
        ]
    )


def hold_lines(figures: Figures) -> list[str]:
    return [
        f"hold {hold.score} {hold.program} {hold.transfer_id} {_dollars(hold.cents)}"
        f"{f' ({hold.story})' if hold.story else ''}: {' '.join(shown_reasons(hold)) or 'no reasons given'}"
        for hold in figures.holds
    ]


def shown_reasons(hold: Hold) -> tuple[str, ...]:
    """The first reasons, the heaviest of their families, and the number of the others."""
    left = len(hold.why) - SHOWN_REASONS
    return hold.why[:SHOWN_REASONS] + ((f"And {left} more.",) if left > 0 else ())


def directions(url: str, stage: Stage, *, transfer_id: str) -> str:
    """Addresses and commands, ready to paste."""
    slug, access = next(iter(stage.programs.items()))
    headers = f"-H 'Authorization: Bearer {stage.operator_token}' -H 'X-Operator: {OPERATOR}'"
    transfer = {"rail": "wire", "direction": "outgoing", "amountCents": "985000"}
    stranger = {"name": "New Vendor LLC", "routingNumber": "021000021", "accountLast4": "6789", "countryCode": "US"}
    question = json.dumps({"programSlug": slug, "transfer": {**transfer, "counterparty": stranger}})
    return "\n".join(
        [
            f"service         {url}",
            f"operator token  {stage.operator_token}",
            *(f"program         {name:12} {access.program_id}" for name, access in stage.programs.items()),
            "",
            "Score a transfer before it moves:",
            f"  curl -s {url}/api/preflight {headers} -H 'Content-Type: application/json' -d {shlex.quote(question)}",
            "Read one that has moved:",
            f"  curl -s '{url}/api/transfers/{transfer_id}?programId={access.program_id}' {headers}",
        ]
    )


def say(console: Console, text: str) -> None:
    """Print without wrapping, so that a command can be pasted."""
    console.print(text, soft_wrap=True, highlight=False, markup=False)


def _counts(figures: Figures) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row(
        "events", f"{figures.sent:,} sent, {figures.accepted:,} accepted, {figures.duplicates:,} known already"
    )
    decided = ", ".join(f"{name} {figures.decisions.get(name, 0)}" for name in DECISIONS)
    table.add_row("pre-flights", f"{decided}; {_ms(figures.preflight_ms)}")
    table.add_row("event to score", f"{_ms(figures.scored_ms)}, until it can be read")
    return table


def _bands(figures: Figures) -> Table:
    table = Table(box=None, padding=(0, 2))
    table.add_column("transfers")
    for band in BANDS:
        table.add_column(band, justify="right")
    for program, counts in figures.bands.items():
        table.add_row(program, *(f"{counts.get(band, 0):,}" for band in BANDS))
    return table


def _holds(figures: Figures) -> Table:
    table = Table(box=None, padding=(0, 2), title="last transfers in the hold band", title_justify="left")
    for name in ("score", "program", "amount", "what it was", "why"):
        table.add_column(name, justify="right" if name in ("score", "amount") else "left")
    for hold in reversed(figures.holds):
        table.add_row(
            str(hold.score),
            hold.program,
            _dollars(hold.cents),
            hold.story or "everyday",
            "\n".join(shown_reasons(hold)),
        )
    return table


def _ms(pair: tuple[float | None, float | None]) -> str:
    middle, worst = pair
    return "not measured yet" if middle is None or worst is None else f"p50 {middle:.1f} ms, p99 {worst:.1f} ms"


def _dollars(cents: str) -> str:
    return f"${int(cents) // 100:,}.{int(cents) % 100:02d}"
