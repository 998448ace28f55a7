"""The difference of two configurations, and what of it needs a second person."""

import pytest
from hypothesis import given, settings

from clearhold.features.configuration.changes import (
    MOST_RECORDED_BYTES,
    changes_between,
    recorded_changes,
    removal_faults,
)
from clearhold.features.configuration.files import ConfigFile, config_sha256, normal_files, place_of
from tests.support.configurations import configurations

CLOCK = ConfigFile(path="policies/clock.yaml", value={"autoHours": 1, "standardHours": 24})
ENDPOINT = ConfigFile(path="webhooks/a.yaml", value={"url": "https://a.example", "events": []})
RULE = ConfigFile(path="rules/a.yaml", value={"id": "a", "when": [{"field": "rail", "op": "eq", "value": "ach"}]})


def test_given_a_changed_field_then_it_is_named_with_both_values() -> None:
    after = ConfigFile(path=CLOCK.path, value={"autoHours": 1, "standardHours": 8})
    (change,) = changes_between([CLOCK], [after])
    (field,) = change.fields
    assert (change.change, change.needs_second_person) == ("changed", True)
    assert (field.field, field.before, field.after) == ("standardHours", 24, 8)


def test_given_a_truth_value_in_place_of_a_number_then_it_is_a_change() -> None:
    (change,) = changes_between([CLOCK], [ConfigFile(path=CLOCK.path, value={"autoHours": True, "standardHours": 24})])
    assert change.fields[0].field == "autoHours"


def test_given_a_rule_then_its_conditions_are_compared_one_by_one() -> None:
    when = [*RULE.value["when"], {"field": "type", "op": "is_null"}]
    (change,) = changes_between([RULE], [ConfigFile(path=RULE.path, value=RULE.value | {"when": when})])
    assert [field.field for field in change.fields] == ["when[1].field", "when[1].op"]


@pytest.mark.parametrize(("file", "added", "removed"), [(RULE, True, False), (ENDPOINT, False, False)])
def test_given_a_change_then_it_needs_a_second_person_as_on_its_own_route(
    file: ConfigFile,
    added: bool,  # noqa: FBT001 - parameters of a test
    removed: bool,  # noqa: FBT001
) -> None:
    assert [each.needs_second_person for each in changes_between([], [file])] == [added]
    assert [each.needs_second_person for each in changes_between([file], [])] == [removed]


def test_given_the_recorded_form_then_it_has_digests_and_the_fields_unless_they_are_many() -> None:
    changes = changes_between([CLOCK], [RULE])
    recorded = recorded_changes(changes, [CLOCK], [RULE])
    assert [each["path"] for each in recorded] == [CLOCK.path, RULE.path]
    assert recorded[0]["afterSha256"] is None
    assert len(recorded[1]["afterSha256"]) == 64
    assert recorded[0]["fields"][0] == {"field": "autoHours", "before": 1}
    long = ConfigFile(path=RULE.path, value=RULE.value | {"note": "x" * MOST_RECORDED_BYTES})
    (large,) = recorded_changes(changes_between([RULE], [long]), [RULE], [long])
    assert (large["fields"], len(large["afterSha256"])) == (None, 64)


def test_given_files_that_have_to_stay_then_each_missing_one_is_named() -> None:
    own = ConfigFile(path="programs/payroll/clock.yaml", value=CLOCK.value)
    missing = [path for path, _ in removal_faults([CLOCK, own], [])]
    assert len(missing) == 7
    assert {CLOCK.path, own.path} <= set(missing)


@pytest.mark.parametrize(
    "path",
    [
        "rules/../a.yaml",
        "/rules/a.yaml",
        "rules/a.yml",
        "rules/A.yaml",
        "policies/limits.yaml",
        "programs/p/retention.yaml",
    ],
)
def test_given_a_path_of_no_setting_then_it_has_no_place(path: str) -> None:
    assert place_of(path) is None


@settings(max_examples=50)
@given(configurations(), configurations())
def test_given_two_configurations_then_no_changes_and_one_digest_mean_the_same(
    one: tuple[ConfigFile, ...], other: tuple[ConfigFile, ...]
) -> None:
    assert normal_files(one) == one
    is_same = config_sha256("bank", one) == config_sha256("bank", other)
    assert is_same is (changes_between(one, other) == ())
    assert changes_between(one, one) == ()
