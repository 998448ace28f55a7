"""The further fields on what policy says: of the counterparty's country, the thresholds, and the versions in force."""

from typing import Final

from clearhold.features.catalogue.feature import Feature

POLICY_FIELDS: Final[tuple[Feature, ...]] = (
    Feature(
        "counterparty.countryLists",
        "counterparty_country_lists",
        "string",
        "names of lists",
        "in force then",
        "The lists of policy that its country is on, comma-separated: call_for_action, comprehensively_sanctioned, "
        "increased_monitoring; empty on none, null without a country.",
    ),
    Feature(
        "policy.structuringThresholds",
        "structuring_thresholds",
        "string",
        "cents list",
        "in force then",
        "The reporting thresholds that amounts are compared with, comma-separated.",
    ),
    Feature(
        "policy.thresholdsVersion", "thresholds_version", "string", "", "in force then", "Version of the thresholds."
    ),
    Feature(
        "policy.ladderVersion",
        "ladder_version",
        "string",
        "",
        "in force then",
        "The version of the limit ladder behind entity.rescreenDays.",
    ),
)
