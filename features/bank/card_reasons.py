"""Card decision reasons of several issuers, folded into one list.

Source  public issuer API references; unknown words become OTHER and the issuer's own word stays in the raw object
"""

from typing import Final

from clearhold.features.core.vocabulary import CardReason

_WORDS: Final[dict[CardReason, tuple[str, ...]]] = {
    CardReason.APPROVED: ("approved", "card_active", "webhook_approved", "network_fallback", "0000", "0002", "1830"),
    CardReason.INSUFFICIENT_FUNDS: (
        "insufficient_funds",
        "insufficient_funds_preload",
        "insufficient_funding_source_balance",
    ),
    CardReason.LIMIT_EXCEEDED: ("spending_controls", "user_transaction_limit", "limit_exceeded"),
    CardReason.MERCHANT_BLOCKED: (
        "merchant_blacklist",
        "unauthorized_merchant",
        "auth_rule_blocked_mcc",
        "auth_rule_blocked_country",
        "not_allowed",
        "merchant_blocked",
    ),
    CardReason.CARD_INACTIVE: ("card_inactive", "card_paused", "card_not_activated"),
    CardReason.CARD_CLOSED: ("card_canceled", "card_closed", "terminated"),
    CardReason.CARD_EXPIRED: ("card_expired", "1001"),
    CardReason.ACCOUNT_INACTIVE: (
        "account_disabled",
        "account_paused",
        "account_inactive",
        "inactive_account",
        "account_under_review",
        "account_delinquent",
        "program_suspended",
    ),
    CardReason.CARDHOLDER_BLOCKED: ("cardholder_blocked", "cardholder_inactive", "cardholder_verification_required"),
    CardReason.PIN_OR_CVV: (
        "incorrect_pin",
        "pin_blocked",
        "invalid_card_details",
        "card_security_code_incorrect",
        "card_expiry_date_incorrect",
        "verification_failed",
        "insecure_authorization_method",
        "sca_required",
        "pin_or_cvv",
    ),
    CardReason.SUSPECTED_FRAUD: (
        "suspected_fraud",
        "fraud_advice",
        "security_violation",
        "cardholder_challenge_failed",
    ),
    CardReason.PROGRAM_DECLINED: ("webhook_declined", "custom_asa_result", "auth_rule", "program_declined"),
    CardReason.TECHNICAL: (
        "webhook_timeout",
        "webhook_error",
        "customer_asa_timeout",
        "unknown_host_timeout",
        "switch_inoperative_advice",
        "format_error",
        "technical",
    ),
}
_NORMALISED: Final = {word: reason.value for reason, words in _WORDS.items() for word in words}


def normalised_reason(word: str) -> str:
    """The shared word for an issuer's decision reason."""
    known = _NORMALISED.get(word.lower())
    if known is not None:
        return known
    over_a_limit = word.upper().endswith("_SPEND_LIMIT_EXCEEDED")
    return (CardReason.LIMIT_EXCEEDED if over_a_limit else CardReason.OTHER).value
