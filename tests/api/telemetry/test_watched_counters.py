"""Every counter that an alert rule watches is shown at 0 from the start: Prometheus sees no increase of a later one."""

import re
from itertools import product
from pathlib import Path
from typing import Final

from clearhold.features.core.entries.actions import ActionType
from tests.api.telemetry.test_metrics import Scrape, logged
from tests.support.running_service import RunningService

RULES: Final = Path(__file__).parents[3] / "deploy" / "prometheus" / "alerts.yml"


def watched_counters() -> list[tuple[str, dict[str, str]]]:
    """Each counter whose increase a rule watches, with each set of labels that it must have."""
    text = RULES.read_text(encoding="utf-8")
    watched = []
    for name, matchers in re.findall(r"increase\(clearhold_(\w+)(?:\{([^}]*)\})?\[", text):
        values = {label: value.split("|") for label, _, value in re.findall(r"(\w+)(=~?)\"([^\"]*)\"", matchers)}
        watched += [(name, dict(zip(values, chosen, strict=True))) for chosen in product(*values.values())]
    return watched


def test_given_a_service_that_has_just_started_then_every_counter_that_a_rule_watches_is_there_at_0(
    tmp_path: Path,
) -> None:
    with RunningService(tmp_path / "data", "--metrics-port", "0") as service:
        first = Scrape(logged(service, "metrics_on")[-1]["address"])
    watched = watched_counters()

    assert len(watched) > 15
    assert not [(name, labels) for name, labels in watched if set(first.values(name, **labels)) != {0.0}]
    assert len(first.values("action_executions_total", result="unknown")) == len(ActionType)
