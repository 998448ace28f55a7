"""Numbers and secrets that nobody but who wrote them may read, each with its place in it, and where they turn up.

A place gets a text with every kind, in which no two places have anything in common.
"""

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple


class Planted(NamedTuple):
    """``core`` is what may be nowhere: the number as it was written, or what identifies it."""

    place: str
    kind: str
    core: str


class Plants:
    """What was planted, and where."""

    def __init__(self) -> None:
        self.all: list[Planted] = []
        self._places = count(100)

    def text(self, place: str) -> str:
        """Prose with a number of every kind and a secret of every kind."""
        numbers = self._numbers(f"{next(self._places):03d}")
        self.all += (Planted(place, kind, core) for kind, core in numbers.items())
        return "; ".join(f"{kind} {core}" for kind, core in numbers.items()) + " was named."

    def name(self, place: str) -> str:
        """Prose that is short enough for a name."""
        p = f"{next(self._places):03d}"
        numbers = {kind: core for kind, core in self._numbers(p).items() if kind in {"account", "ssn", "iban", "token"}}
        self.all += (Planted(place, kind, core) for kind, core in numbers.items())
        return "Acme " + " ".join(numbers.values())

    def account(self, place: str) -> str:
        """An account number, as it stands in a field of its own."""
        number = f"31{next(self._places):03d}775501"
        self.all.append(Planted(place, "account field", number))
        return number

    def tax_number(self, place: str, *, person: bool) -> str:
        p = f"{next(self._places):03d}"
        number = f"{p}-68-2{p}" if person else f"84-3{p}{p}"
        self.all.append(Planted(place, "tax number field", number))
        return number

    def number(self, place: str) -> str:
        """Nine digits, as a routing number has."""
        number = f"0{next(self._places):03d}77123"[:9]
        self.all.append(Planted(place, "number", number))
        return number

    def secret(self, place: str) -> str:
        secret = f"whsec_f{next(self._places):03d}QrStUvWxYz0123456789"
        self.all.append(Planted(place, "secret field", secret))
        return secret

    def found_in(self, text: str) -> Iterator[Planted]:
        return (each for each in self.all if each.core in text)

    def _numbers(self, p: str) -> dict[str, str]:
        return {
            "account": f"90{p}7755{p}",
            "routing": f"02{p}6601",
            "card": f"4{p} 77{p[0]}6 {p}8 8877",
            "bare card": f"5{p}77662{p}88771",
            "dashed card": f"4{p}-77{p[0]}9-{p}8-8866",
            "amex": f"3{p} 82{p}3 1{p}5",
            "ssn": f"{p}-66-7{p}",
            "spaced ssn": f"{p} 67 7{p}",
            "ein": f"97-7{p}{p}",
            "iban": f"DE89370400440{p}013000",
            "spaced iban": f"NL91 ABNA 0{p} 16{p[1:]} 00",
            "lettered iban": f"FR142004101005{p}13M0{p}6",
            "secret": f"whsec_{p}aBcDeFgHiJkLmNoPqRsT",
            "key": f"live_{p}aBcDeFgHiJkLmNoPqRsTu",
            "foreign key": f"sk_live_{p}aBcDeFgHiJkLmNoP",
            "token": f"op_{p}ZyXwVuTsRqPoNmLkJiHgFeDc",
            "jwt": f"eyJhbGciOiJFZERTQSJ9.eyJzdWIi{p}.c2lnbmF0dXJl{p}",
        }
