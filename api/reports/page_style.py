"""The style sheet of the weekly report's page, and the policy that lets nothing but it count.

The foot of each printed page names the report, so the sheet differs from report to report.
"""

from base64 import b64encode
from hashlib import sha256
from typing import Final

from clearhold.api.http.html import Html

_LIGHT: Final = (
    "--ink:#1a2129;--soft:#5b6672;--rule:#c9d0d8;--paper:#fff;--panel:#f4f6f8;--bar:#3d6a94;--clear:#3f8361;"
    "--review:#a86a06;--hold:#b3322c;--unscored:#87919c"
)
_DARK: Final = (
    "--ink:#e4e8ec;--soft:#9aa6b2;--rule:#3a444e;--paper:#13181d;--panel:#1c232a;--bar:#77a7d4;--clear:#68b48b;"
    "--review:#e0a33b;--hold:#ef7a70;--unscored:#7d8894"
)
_STYLE: Final = (
    f":root{{color-scheme:light dark;{_LIGHT}}}"
    f"@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;"
    "font-variant-numeric:tabular-nums}"
    "main{max-width:60rem;margin:0 auto;padding:2rem 1.5rem 3rem}"
    "h1{font-size:1.7rem;line-height:1.2;margin:.2rem 0}"
    "h2{font-size:1.05rem;margin:2rem 0 .6rem;padding-bottom:.25rem;border-bottom:1px solid var(--rule);"
    "break-after:avoid}"
    "p{margin:.4rem 0;max-width:75ch}.kicker,.period,figcaption,th,dt,.note,.small{color:var(--soft)}"
    ".kicker{font-size:.8rem;letter-spacing:.08em;text-transform:uppercase;margin:0}"
    ".period{font-size:1.05rem;margin:0}"
    ".mark{display:inline-block;border:1.5px solid currentColor;border-radius:3px;padding:0 .45rem;font-size:.8rem;"
    "font-weight:600;margin-right:.5rem}"
    "dl.about{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:.15rem 1.5rem;margin:1rem 0 0;"
    "font-size:.82rem}dl.about div{display:flex;gap:.6rem}dt{flex:0 0 5.2rem}dd{margin:0;overflow-wrap:anywhere}"
    ".tiles{display:grid;grid-template-columns:repeat(4,minmax(0,1fr));gap:.8rem;margin:1.2rem 0}"
    ".tile{background:var(--panel);border-radius:6px;padding:.7rem .9rem;break-inside:avoid}"
    ".tile .head{font-size:.78rem;color:var(--soft)}.tile .figure{font-size:1.55rem;font-weight:650;line-height:1.25}"
    ".tile .small{font-size:.8rem}"
    ".columns{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:1.1rem 1.8rem}"
    "figure{margin:0;break-inside:avoid;min-width:0}figcaption{font-size:.82rem;margin-bottom:.2rem}"
    "svg{display:block;width:100%;height:auto}svg text{font-size:10px;fill:var(--ink)}"
    "svg .value{paint-order:stroke;stroke:var(--paper);stroke-width:3px}"
    "svg .label{fill:var(--soft)}"
    ".bar{fill:var(--bar)}.clear{fill:var(--clear)}.review{fill:var(--review)}.hold{fill:var(--hold)}"
    ".unscored{fill:var(--unscored)}.axis{stroke:var(--rule)}.edge{stroke-dasharray:3 3;fill:none}"
    ".edge.review{stroke:var(--review)}.edge.hold{stroke:var(--hold)}.course{stroke:var(--bar);stroke-width:2}"
    ".dot{fill:var(--bar)}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.85rem}"
    "th,td{text-align:left;padding:.3rem .7rem .3rem 0;border-bottom:1px solid var(--rule);vertical-align:top}"
    "th{font-weight:600;white-space:nowrap}td.number,th.number{text-align:right;white-space:nowrap}td.id{overflow-wrap:anywhere}"
    "thead{display:table-header-group}tr{break-inside:avoid}"
    ".status{white-space:nowrap;font-weight:600}.status.ok{color:var(--clear)}.status.watch{color:var(--review)}"
    ".status.breach{color:var(--hold)}.status.unmeasured{color:var(--soft);font-weight:400}"
    ".note{font-size:.82rem}footer{margin-top:2rem;border-top:1px solid var(--rule);padding-top:.5rem;font-size:.8rem;"
    "color:var(--soft)}"
    "@media (max-width:44rem){.tiles,dl.about{grid-template-columns:repeat(2,minmax(0,1fr))}"
    ".columns,dl.about{grid-template-columns:1fr}}"
    f"@media print{{:root{{color-scheme:light;{_LIGHT}}}"
    "html{font-size:11.2px}body{font-size:.94rem;line-height:1.38}main{max-width:none;padding:0}"
    "h2{margin:1.1rem 0 .4rem}p{margin:.25rem 0}.tiles{grid-template-columns:repeat(4,minmax(0,1fr));margin:.8rem 0}"
    ".columns{gap:.6rem 1.8rem}th,td{padding-top:.16rem;padding-bottom:.16rem}"
    "dl.about{grid-template-columns:repeat(2,minmax(0,1fr))}.columns{grid-template-columns:repeat(2,minmax(0,1fr))}"
    ".wide{overflow:visible}p{max-width:none}"
    ".tile{border:1px solid var(--rule)}.tile,rect,circle{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "body>main>footer{display:none}}"
)
_FOOT: Final = (
    "@page{{size:A4;margin:14mm 14mm 16mm;"
    "font:7.5pt system-ui,sans-serif;color:#5b6672;@bottom-left{{content:'{key}'}}"
    "@bottom-right{{content:'Page ' counter(page) ' of ' counter(pages)}}}}"
)


def style_of(key: str) -> Html:
    """The sheet for the report of this key, which is made of a program's id and a week."""
    safe = "".join(char for char in key if char.isascii() and (char.isalnum() or char in ":-_"))
    return Html(_STYLE + _FOOT.format(key=safe))


def policy_of(style: Html) -> str:
    """The Content-Security-Policy of a page with this style sheet: no scripts, nothing fetched."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
