"""What the connector tells an assistant about decisions is what the code does."""

import pytest

from clearhold.api.connector.tools import INSTRUCTIONS, TOOLS
from clearhold.features.core.entries.commands import OperatorKind, needs_person
from clearhold.features.core.vocabulary import AlertStatus, Route


@pytest.mark.parametrize("text", [INSTRUCTIONS, *(tool.description for tool in TOOLS if tool.name == "decide_alert")])
def test_given_the_texts_on_decisions_when_read_then_they_name_each_alert_that_a_key_is_refused_on(text: str) -> None:
    refused_on = [status for status in AlertStatus if needs_person(OperatorKind.KEY, status, Route.AUTOMATED)]

    assert refused_on
    assert all(word in text for word in (*refused_on, Route.REVIEWED))
