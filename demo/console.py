"""Links that open the console in a browser, each signed in as one person, once."""

from typing import Final

import httpx

ANALYST: Final = "ann@bank.example"
APPROVER: Final = "bob@bank.example"
START: Final = "/console/start"
WITHIN_S: Final = 10.0


def sign_in_link(url: str, *, token: str, name: str) -> str:
    """A link that signs this person in once, on this machine, within the hour."""
    answer = httpx.post(
        url + START,
        data={"token": token, "name": name},
        headers={"Sec-Fetch-Site": "same-origin"},
        timeout=WITHIN_S,
        follow_redirects=False,
    )
    if not answer.is_redirect:
        answer.raise_for_status()
        raise RuntimeError(f"{START} gave no link.")
    return url + answer.headers["Location"]


def console_lines(url: str, *, token: str) -> str:
    """Two links, ready to open: an analyst and a second person, who approves."""
    return "\n".join(
        [
            "Open the console in a browser. Each link signs in once:",
            f"  as {ANALYST}  {sign_in_link(url, token=token, name=ANALYST)}",
            f"  as {APPROVER}, who approves (in a private window)  {sign_in_link(url, token=token, name=APPROVER)}",
            f"Later: {url}/console with the operator token and a name.",
        ]
    )
