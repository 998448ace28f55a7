"""``clearhold.client``: its examples run against a real service, and it names all that it promises."""

import doctest
import inspect
from pathlib import Path

from clearhold import client
from clearhold.client.client import ClearholdClient
from tests.support.running_service import RunningService


def test_given_a_service_when_the_examples_run_then_they_print_what_they_show(tmp_path: Path) -> None:
    with RunningService(tmp_path, "--scorers", "0") as service:
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "A bank"})
        program = service.admin(
            "/api/admin/programs",
            {"tenantId": tenant["id"], "slug": "payroll", "name": "Payroll", "source": "bank"},
        )
        known = {
            "URL": f"http://127.0.0.1:{service.port}",
            "TOKEN": tenant["operatorToken"],
            "PROGRAM_ID": program["id"],
            "SECRET": program["ingestSecret"],
        }

        results = doctest.testmod(client, extraglobs=known)

    assert results.attempted >= 8
    assert not results.failed


def test_given_the_public_module_then_it_names_what_it_has_and_each_name_is_documented() -> None:
    public = {name for name, each in vars(client).items() if not name.startswith("_") and not inspect.ismodule(each)}

    assert public == set(client.__all__)
    assert not [
        each for each in client.__all__ if callable(getattr(client, each)) and not getattr(client, each).__doc__
    ]


def test_given_the_client_then_every_method_for_callers_says_what_it_does() -> None:
    methods = {name: each for name, each in inspect.getmembers(ClearholdClient, inspect.isfunction) if name[0] != "_"}

    assert len(methods) > 20
    assert not [name for name, each in methods.items() if not each.__doc__]
