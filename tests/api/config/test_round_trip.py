"""Any configuration that is applied to an empty tenant is exported as it was; and it counts in every program."""

from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, settings

from clearhold.features.configuration.files import ConfigFile
from tests.support.config_calls import ConfigCalls
from tests.support.configurations import SLUGS, configurations
from tests.support.running_app import RunningApp

NUMBERS = count()


def empty_tenant(api: RunningApp) -> ConfigCalls:
    tenant = api.create_tenant(f"bank-{next(NUMBERS)}")
    for slug in SLUGS:
        api.create_program(tenant, slug=slug)
    return ConfigCalls(api, tenant)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(configurations())
def test_given_any_configuration_when_applied_to_an_empty_tenant_then_its_export_is_equal(
    api: RunningApp, files: tuple[ConfigFile, ...]
) -> None:
    config = empty_tenant(api)
    wanted: dict[str, Any] = {file.path: file.value for file in files}
    plan = config.planned(wanted)
    answer = config.apply(wanted).json()
    if answer["action"] is None:
        assert plan["changes"] == []
    else:
        action = answer["action"]
        if action["status"] == "requested":
            action = config.approve(action)
        assert action["status"] == "executed", action["error"]
    exported = config.export()
    assert {file["path"]: file["value"] for file in exported["files"]} == wanted
    assert exported["sha256"] == plan["configSha256"]
    api.restart()
    assert config.export() == exported
