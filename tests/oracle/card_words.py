"""The issuers' words for a card's decision, normalised as the reference's table of reasons has them."""

from typing import Final

TABLE: Final[dict[str, tuple[str, ...]]] = {
    "APPROVED": ("card_active", "webhook_approved", "network_fallback", "0000", "0002", "1830"),
    "INSUFFICIENT_FUNDS": ("INSUFFICIENT_FUNDS_PRELOAD", "INSUFFICIENT_FUNDING_SOURCE_BALANCE"),
    "LIMIT_EXCEEDED": ("spending_controls", "USER_TRANSACTION_LIMIT"),
    "MERCHANT_BLOCKED": (
        *("MERCHANT_BLACKLIST", "UNAUTHORIZED_MERCHANT", "AUTH_RULE_BLOCKED_MCC", "AUTH_RULE_BLOCKED_COUNTRY"),
        "not_allowed",
    ),
    "CARD_INACTIVE": ("CARD_PAUSED", "CARD_NOT_ACTIVATED"),
    "CARD_CLOSED": ("card_canceled", "TERMINATED"),
    "CARD_EXPIRED": ("1001",),
    "ACCOUNT_INACTIVE": (
        *("account_disabled", "ACCOUNT_PAUSED", "INACTIVE_ACCOUNT", "ACCOUNT_UNDER_REVIEW", "ACCOUNT_DELINQUENT"),
        "PROGRAM_SUSPENDED",
    ),
    "CARDHOLDER_BLOCKED": ("cardholder_inactive", "cardholder_verification_required"),
    "PIN_OR_CVV": (
        *("INCORRECT_PIN", "pin_blocked", "INVALID_CARD_DETAILS", "CARD_SECURITY_CODE_INCORRECT", "SCA_REQUIRED"),
        *("CARD_EXPIRY_DATE_INCORRECT", "verification_failed", "insecure_authorization_method"),
    ),
    "SUSPECTED_FRAUD": ("FRAUD_ADVICE", "SECURITY_VIOLATION", "CARDHOLDER_CHALLENGE_FAILED"),
    "PROGRAM_DECLINED": ("webhook_declined", "CUSTOM_ASA_RESULT", "AUTH_RULE"),
    "TECHNICAL": (
        *("webhook_timeout", "webhook_error", "CUSTOMER_ASA_TIMEOUT", "UNKNOWN_HOST_TIMEOUT", "FORMAT_ERROR"),
        "SWITCH_INOPERATIVE_ADVICE",
    ),
    "OTHER": (),
}
FRAUD_OR_AUTHENTICATION: Final = frozenset({"SUSPECTED_FRAUD", "PIN_OR_CVV"})
NORMAL: Final = {word.upper(): normal for normal, words in TABLE.items() for word in (normal, *words)}


def normal_reason(said: str | None) -> str | None:
    return None if said is None else NORMAL.get(said.upper(), "OTHER")
