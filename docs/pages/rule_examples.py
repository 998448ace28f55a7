"""Rules as a bank may write them, each with features of a transfer that matches and of one that does not."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

Features = Mapping[str, str | int | float | bool | None]


class RuleExample(NamedTuple):
    """``rule`` is the JSON of a rule; other features of the two transfers do not matter."""

    rule: Mapping[str, Any]
    matches: Features
    passes: Features


EXAMPLES: Final = (
    RuleExample(
        rule={
            "id": "large-wire-to-a-stranger",
            "name": "Large wire to a counterparty never paid before",
            "when": [
                {"field": "rail", "op": "in", "value": ["wire", "intl_wire"]},
                {"field": "direction", "op": "eq", "value": "outgoing"},
                {"field": "amountCents", "op": "gte", "value": "2500000"},
                {"field": "counterparty.firstTime", "op": "eq", "value": True},
            ],
            "action": "hold",
            "severity": "high",
        },
        matches={
            "rail": "wire",
            "direction": "outgoing",
            "amountCents": 2_500_000,
            "counterparty.firstTime": True,
        },
        passes={
            "rail": "wire",
            "direction": "outgoing",
            "amountCents": 2_500_000,
            "counterparty.firstTime": None,
        },
    ),
    RuleExample(
        rule={
            "id": "large-after-long-rest",
            "name": "A large amount after half a year of rest",
            "when": [
                {"field": "typology.dormantDays", "op": "gte", "value": 180},
                {"field": "amountCents", "op": "between", "value": [1_000_000, 100_000_000]},
            ],
            "action": "review",
            "severity": "medium",
            "note": "dormantDays is null for the first transfer of all, which this rule does not match.",
        },
        matches={"typology.dormantDays": 180, "amountCents": 100_000_000},
        passes={"typology.dormantDays": None, "amountCents": 100_000_000},
    ),
    RuleExample(
        rule={
            "id": "country-not-stated",
            "name": "International wires whose country the bank did not deliver",
            "when": [
                {"field": "rail", "op": "eq", "value": "intl_wire"},
                {"field": "counterpartyCountry", "op": "is_null"},
            ],
            "action": "log",
            "severity": "low",
        },
        matches={"rail": "intl_wire", "counterpartyCountry": None},
        passes={"rail": "intl_wire", "counterpartyCountry": "DE"},
    ),
    RuleExample(
        rule={
            "id": "undeclared-while-returned",
            "name": "Undeclared countries while unauthorized returns rise",
            "when": [
                {"field": "declared.countries", "op": "eq", "value": "US"},
                {"field": "counterpartyCountry", "op": "not_in", "value": ["US", "CA", "MX"]},
                {"field": "program.unauthorizedReturnRate60d", "op": "gt", "value": 0.0025},
            ],
            "action": "alert",
            "severity": "medium",
        },
        matches={
            "declared.countries": "US",
            "counterpartyCountry": "DE",
            "program.unauthorizedReturnRate60d": 0.003,
        },
        passes={
            "declared.countries": "DE,US",
            "counterpartyCountry": "DE",
            "program.unauthorizedReturnRate60d": 0.003,
        },
    ),
)
