"""The outline of a page: headings, landmarks, heads of tables, without the data of the day; and pictures of pages."""

import base64
import re
from pathlib import Path
from typing import Final

import msgspec
from playwright.sync_api import Page

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "pictures"
OUTLINES: Final = FOLDER / "outlines.json"
LARGEST: Final = 60_000
_QUALITIES: Final = (60, 50, 40, 30)
_NUMBER: Final = re.compile(r"[0-9][0-9,.:]*")
_OUTLINE: Final = """() => {
  const data = 'bdi, code, time, kbd, .mark, .simulated, .band, .hidden';
  const words = (each) => {
    const copy = each.cloneNode(true);
    copy.querySelectorAll(data).forEach((one) => one.replaceWith('…'));
    return copy.textContent.replace(/\\s+/g, ' ').trim();
  };
  const visible = (each) => each.checkVisibility() && each.closest('#stacks, .timeline') === null;
  const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);
  return [
    ...all('main :is(h1, h2, h3)').map((each) => `heading ${words(each)}`),
    ...all('main nav, main [role=region], main [role=search]').map((each) => `part ${each.ariaLabel ?? ''}`),
    ...all('main thead th').map((each) => `column ${words(each)}`),
    ...all('main form[method=post] button[type=submit]').map((each) => `button ${words(each)}`),
  ];
}"""


def outline_of(page: Page) -> list[str]:
    """Each line once, in order of letters; numbers are ``#``, and texts of outsiders an ellipsis."""
    lines: list[str] = page.evaluate(_OUTLINE)
    return sorted({_NUMBER.sub("#", each) for each in lines})


def picture_of(page: Page) -> bytes:
    """The page as it is on the screen, in WebP, which Chromium itself writes: in the best quality that is small."""
    session = page.context.new_cdp_session(page)
    for quality in _QUALITIES:
        answer = session.send("Page.captureScreenshot", {"format": "webp", "quality": quality})
        picture = base64.b64decode(answer["data"])
        if len(picture) <= LARGEST:
            break
    session.detach()
    return picture


def recorded() -> dict[str, list[str]]:
    """The outlines beside the pictures, by the picture's name."""
    return msgspec.json.decode(OUTLINES.read_bytes(), type=dict[str, list[str]])


def record(pictures: dict[str, bytes], outlines: dict[str, list[str]]) -> None:
    """Put the pictures of new and changed screens in place; that of an unchanged one stays, unless it was deleted."""
    FOLDER.mkdir(exist_ok=True)
    before = recorded() if OUTLINES.exists() else {}
    for path in FOLDER.glob("*.webp"):
        if path.stem not in outlines or outlines[path.stem] != before.get(path.stem):
            path.unlink()
    for name, picture in pictures.items():
        path = FOLDER / f"{name}.webp"
        if not path.exists():
            path.write_bytes(picture)
    OUTLINES.write_bytes(msgspec.json.format(msgspec.json.encode(dict(sorted(outlines.items()))), indent=1) + b"\n")
