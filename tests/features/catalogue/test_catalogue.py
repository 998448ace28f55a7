"""The catalogue, the vector, the interface's rule fields and the page say the same."""

from pathlib import Path

from clearhold.features.catalogue.vector import FEATURES, FeatureVector
from docs.pages.features import markdown

RULE_FIELDS = """amountCents rail direction type status counterpartyCountry cardDecisionReason entity.verificationStatus
entity.pepStatus entity.isHighRisk entity.requiresScreening entity.screeningAgeDays entity.count30d velocity24hCount
velocity24hSumCents entity.priorTransfers entity.priorReturns entity.achDebits60d entity.unauthorizedReturns60d
structuringWindowCount counterparty.firstTime counterparty.n counterparty.priorReturns
counterparty.priorUnauthorizedReturns program.n90d program.medianCents program.p95Cents program.dailyAvgCents30d
program.declaredMonthlyVolumeCents program.unauthorizedReturnRate60d declared.countries typology.roundTrip
typology.layeringHops typology.dormantDays typology.justBelowThreshold"""


def test_given_the_vector_then_the_catalogue_lists_its_fields_in_order() -> None:
    assert tuple(feature.column for feature in FEATURES) == FeatureVector.__struct_fields__


def test_given_the_rule_fields_of_the_interface_then_each_is_a_feature() -> None:
    assert set(RULE_FIELDS.split()) <= {feature.name for feature in FEATURES}


def test_given_the_page_then_it_is_the_catalogue() -> None:
    page = Path(__file__).parents[3] / "docs" / "features.md"

    assert page.read_text() == markdown()
