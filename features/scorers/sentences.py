"""How sentences write figures."""


def money(cents: int) -> str:
    return f"{cents // 100:,}.{cents % 100:02d}"


def tenths(numerator: int, denominator: int) -> str:
    """A ratio with one digit behind the point, cut and never rounded up."""
    whole = numerator * 10 // denominator
    return f"{whole // 10}.{whole % 10}"
