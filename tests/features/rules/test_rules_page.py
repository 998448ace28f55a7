"""The page on rules is what the code says, and its examples are rules that match what the page says."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.catalogue.vector import FEATURES, values_by_name
from clearhold.features.core.rules import Rule
from clearhold.features.rules.language import faults_of
from clearhold.features.rules.predicate import compiled
from docs.pages.rule_examples import EXAMPLES, RuleExample
from docs.pages.rules import markdown
from tests.support.builders import a_vector
from tests.support.rule_agreement import disagreements
from tests.support.rules import interpreted

PAGE: Final = Path(__file__).parents[3] / "docs" / "rules.md"
COLUMN_OF: Final = {feature.name: feature.column for feature in FEATURES}


def rule_of(body: Mapping[str, Any]) -> Rule:
    return msgspec.convert({**body, "status": "draft"}, Rule)


def test_given_the_page_then_it_is_what_the_code_says() -> None:
    assert PAGE.read_text("utf-8") == markdown()


def test_given_the_page_then_its_examples_are_rules_without_faults() -> None:
    bodies = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)]

    assert len(bodies) == len(EXAMPLES)
    assert [list(faults_of(rule_of(body))) for body in bodies] == [[] for _ in bodies]


@pytest.mark.parametrize("example", EXAMPLES, ids=[str(example.rule["id"]) for example in EXAMPLES])
def test_given_an_example_then_it_matches_the_one_transfer_and_passes_the_other(example: RuleExample) -> None:
    rule = rule_of(example.rule)
    vectors = [
        a_vector(**{COLUMN_OF[name]: value for name, value in features.items()})
        for features in (example.matches, example.passes)
    ]

    assert [compiled([rule])(vector) for vector in vectors] == [(0,), ()]
    assert [interpreted(rule, values_by_name(vector)) for vector in vectors] == [True, False]
    assert disagreements([rule], vectors) == []
