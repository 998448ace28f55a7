"""The statements that a workspace costs do not grow with the transfers of its stack."""

from typing import Any

import pytest

from clearhold.api.console.pages import workspace_view
from clearhold.store.duck.committed_rows import CommittedRows
from tests.support.console import Browser
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp
from tests.support.stacking import stacks, story


def test_given_more_transfers_than_are_read_around_then_all_are_drawn_by_few_statements(
    api: RunningApp,
    tenant: dict[str, Any],
    program: dict[str, Any],
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workspace_view, "AROUND", 1)
    read, statements = CommittedRows._read, list[str]()

    def counted(rows: CommittedRows, sql: str, values: Any = ()) -> list[Any]:
        statements.append(sql)
        return read(rows, sql, values)

    numbers = []
    for account, transfers in (("bacc_few", 3), ("bacc_many", 12)):
        story(api, tenant, program, account, transfers)
        path = next(f"/console/stacks/{each['id']}" for each in stacks(api, tenant) if each["key"] == account)
        browser.get(path)  # reads some for the first time
        with monkeypatch.context() as patched:
            patched.setattr(CommittedRows, "_read", counted)
            page = DomPage(browser.get(path).text)
        numbers.append(len(statements))
        statements.clear()
        assert all(f"acht_{account}_{number}" in str(page.one("section", id="money")) for number in range(transfers))
    few, many = numbers
    assert 10 < few <= many < few + 5  # nine transfers more
