"""The alert rules and the dashboard use series, labels and indicators that the service shows.

``docs/metrics.md`` names those; a test of the metrics holds that page against a running service with programs.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.vocabulary import ProgramSource

ROOT: Final = Path(__file__).parent.parent
RULE_FILES: Final = (ROOT / "deploy" / "prometheus" / "alerts.yml", ROOT / "docs" / "monitoring" / "alerts.yml")
RULE_TESTS: Final = ROOT / "deploy" / "prometheus" / "alerts_test.yml"
DASHBOARD: Final = ROOT / "docs" / "monitoring" / "grafana-dashboard.json"
SERIES: Final = re.compile(r"^\| `(clearhold_\w+)` \| (\w+) \| ([\w, ]*) ?\|", re.MULTILINE)
SELECTOR: Final = re.compile(r"(clearhold_\w+)(?:\{([^}]*)\})?")
MATCHER: Final = re.compile(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"')
GROUPED: Final = re.compile(r"\b(?:by|on|without|ignoring) \(([^)]*)\)")
OF_PROMETHEUS: Final = {"instance", "job"}
COLUMNS: Final = 24


def documented() -> dict[str, set[str]]:
    """Every name that can be queried, with its labels."""
    shown: dict[str, set[str]] = {}
    for name, kind, labels in SERIES.findall((ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")):
        of_series = OF_PROMETHEUS | set(re.findall(r"\w+", labels))
        shown |= {name: of_series} if kind != "histogram" else {}
        if kind == "histogram":
            shown |= {f"{name}_bucket": of_series | {"le"}, f"{name}_count": of_series, f"{name}_sum": of_series}
    return shown


def rules() -> list[dict[str, Any]]:
    groups = [group for path in RULE_FILES for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return decoded


def panels() -> list[dict[str, Any]]:
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


class Query(NamedTuple):
    """An expression, and the labels that a legend or a sentence takes from its result."""

    expression: str
    named: frozenset[str]


def queries_of_panel(panel: dict[str, Any]) -> Iterator[Query]:
    for target in panel["targets"]:
        yield Query(target["expr"], frozenset(re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", ""))))


def require_known(query: Query) -> None:
    """Fail unless each series exists with the labels that it is matched, grouped and named by."""
    shown = documented()
    selectors = SELECTOR.findall(query.expression)
    grouped = {label for labels in GROUPED.findall(query.expression) for label in re.findall(r"\w+", labels)}

    assert selectors
    assert query.expression.count("(") == query.expression.count(")")
    for name, matchers in selectors:
        assert name in shown
        pairs = MATCHER.findall(matchers)
        assert {label for label, _ in pairs} <= shown[name], name
        require_values(pairs)
        assert grouped <= shown[name], name
    assert query.named <= {label for name, _ in selectors for label in shown[name]}
    for aggregated in re.findall(r"^(?:sum|max|min) by \(([^)]*)\)", query.expression):
        assert query.named <= set(re.findall(r"\w+", aggregated))


def require_values(pairs: list[tuple[str, str]]) -> None:
    """Fail unless the indicators and sources that are matched exist."""
    known: dict[str, set[str]] = {"kri": {*KriName}, "source": {*ProgramSource}}
    for label, value in pairs:
        if label in known and not value.startswith("$"):
            assert set(value.split("|")) <= known[label]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_given_an_alert_rule_then_its_series_and_labels_exist_and_it_says_what_is_wrong(rule: dict[str, Any]) -> None:
    named = frozenset(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))

    require_known(Query(rule["expr"], named))
    assert rule["labels"]["severity"] in {"page", "ticket"}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_given_an_alert_rule_then_its_unit_tests_show_it_firing_and_not_firing(rule: dict[str, Any]) -> None:
    tests = yaml.safe_load(RULE_TESTS.read_text(encoding="utf-8"))["tests"]
    of_rule = [each for test in tests for each in test["alert_rule_test"] if each["alertname"] == rule["alert"]]
    fired = [alert for each in of_rule for alert in each["exp_alerts"]]

    assert [each for each in of_rule if each["exp_alerts"] == []]
    assert fired
    assert {alert["exp_labels"]["severity"] for alert in fired} == {rule["labels"]["severity"]}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is missing: Debian has it in prometheus")
@pytest.mark.parametrize("command", [("check", *RULE_FILES), ("test", RULE_TESTS)], ids=["check", "test"])
def test_given_promtool_then_the_rules_are_sound_and_fire_as_their_unit_tests_say(
    command: tuple[str | Path, ...],
) -> None:
    verb, *files = command
    done = subprocess.run(["promtool", verb, "rules", *files], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_given_the_alert_rules_then_each_has_a_name_of_its_own() -> None:
    names = [rule["alert"] for rule in rules()]

    assert len(names) > 20
    assert len(set(names)) == len(names)


def test_given_the_rules_on_programs_then_simulated_programs_raise_none() -> None:
    on_programs = [rule["expr"] for rule in rules() if re.search(r"clearhold_program_(?!metrics)", rule["expr"])]

    assert len(on_programs) >= 5
    assert not [expression for expression in on_programs if 'source="bank"' not in expression]


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel["title"])
def test_given_a_panel_then_its_series_and_labels_exist_and_its_source_is_the_variable(panel: dict[str, Any]) -> None:
    for query in queries_of_panel(panel):
        require_known(query)
    assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_given_the_dashboard_then_every_indicator_has_a_panel_and_no_two_panels_one_place() -> None:
    expressions = [query.expression for panel in panels() for query in queries_of_panel(panel)]
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    cells = [
        (column, line)
        for place in places
        for column in range(place["x"], place["x"] + place["w"])
        for line in range(place["y"], place["y"] + place["h"])
    ]

    assert not [kri for kri in KriName if not any(f'value{{kri="{kri}"' in each for each in expressions)]
    assert len(set(cells)) == len(cells)
    assert max(column for column, _ in cells) < COLUMNS
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(dashboard()["panels"])


def test_given_the_variables_then_they_come_from_labels_that_exist_and_every_one_used_is_declared() -> None:
    declared = {variable["name"]: variable for variable in dashboard()["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]+)\b", DASHBOARD.read_text(encoding="utf-8")))
    queries = [variable["query"]["query"] for variable in declared.values() if variable["type"] == "query"]

    assert used == declared.keys()
    assert len(queries) == 4
    for query in queries:
        selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()  # type: ignore[union-attr]
        require_known(Query(selector, frozenset({label})))
