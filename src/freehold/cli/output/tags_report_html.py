"""The report of tags as one HTML page: charts are inline SVG, and nothing is loaded from anywhere.

Values are anybody's: each text is escaped where it is put into the page, and its policy allows no script.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from freehold.cli.output.tags_findings import Finding, Report, Share, Standing
from freehold.cli.output.terminal import escaped, shortened

_ORDER: Final = (Standing.AS_WANTED, Standing.DIFFERS, Standing.DRIFTED, Standing.REFUSED, Standing.UNKNOWN)
_CLASS: Final = {
    Standing.AS_WANTED: "good",
    Standing.DIFFERS: "differs",
    Standing.DRIFTED: "drifted",
    Standing.REFUSED: "left",
    Standing.UNKNOWN: "unknown",
}
_MEANING: Final = {
    Standing.AS_WANTED: "nothing to do",
    Standing.DIFFERS: "not written yet",
    Standing.DRIFTED: "somebody changed what Freehold wrote",
    Standing.REFUSED: "something prevents it",
    Standing.UNKNOWN: "could not be read",
}

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5c6675;--line:#dde2e9;--paper:#fff;--card:#f6f8fa;
--good:#2f855a;--differs:#3b7dd8;--drifted:#d97706;--left:#9b2c5e;--unknown:#6b7280}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa5b4;--line:#303845;--paper:#12161c;--card:#1a2029;
--good:#48bb78;--differs:#63a4ff;--drifted:#f6ad55;--left:#ed64a6;--unknown:#9ca3af}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1180px;margin:0 auto;padding:32px 24px 64px}h1{font-size:24px;margin:0}
h2{font-size:17px;margin:36px 0 12px}
p.sub{margin:4px 0 24px;color:var(--soft)}.top{display:flex;gap:32px;align-items:center;flex-wrap:wrap;
background:var(--card);border:1px solid var(--line);border-radius:10px;padding:20px 28px}
ul.key{list-style:none;margin:0;padding:0}ul.key li{display:flex;gap:10px;align-items:baseline;margin:4px 0}
.dot{width:11px;height:11px;border-radius:3px;flex:none}.n{min-width:3.5em;text-align:right;font-weight:600;
font-variant-numeric:tabular-nums}.soft{color:var(--soft)}
.good{fill:var(--good);background:var(--good)}.differs{fill:var(--differs);background:var(--differs)}
.drifted{fill:var(--drifted);background:var(--drifted)}.left{fill:var(--left);background:var(--left)}
.unknown{fill:var(--unknown);background:var(--unknown)}
svg text{fill:var(--ink);font:inherit}svg text.soft{fill:var(--soft)}svg .none{fill:var(--line)}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:6px 12px 6px 0;vertical-align:top;
border-bottom:1px solid var(--line)}th{color:var(--soft);font-weight:600;font-size:13px}
td.name{width:38%}td.bar{width:38%}.num{width:12%;text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code{font:13px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
td.fix,td.fix code{white-space:nowrap}td.key{min-width:6em}td.why{min-width:15em;overflow-wrap:anywhere}
.tag{white-space:nowrap;border-radius:4px;padding:1px 7px;font-size:12px;color:#fff}.wide{overflow-x:auto}
@media(prefers-color-scheme:dark){.tag{color:#12161c}}
"""


def page(report: Report) -> str:
    """The whole page."""
    body = [
        f"<h1>Tags: {_headline(report)}</h1>",
        f'<p class="sub">{_text(report.cloud)} · {_text(report.made)}</p>',
        _overview(report.whole),
        _shares("By object", "object", report.objects),
        _shares("By kind", "kind", report.kinds),
        _findings(report),
        _open(report.open_),
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>Freehold: tags</title><style>{_STYLE}</style></head>\n"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def _text(text: str) -> str:
    """As text or as the value of an attribute; what is invisible is shown as an escape."""
    return html.escape(escaped(text), quote=True)


def _headline(report: Report) -> str:
    share = report.whole
    told = f"{share.percent} as wanted" if share.total else "nothing found"
    return f"{told}, of what could be looked at" if report.blind else told


def _overview(share: Share) -> str:
    rows = "".join(
        f'<li><span class="dot {_CLASS[each]}"></span><span class="n">{share.counts.get(each, 0)}</span>'
        f'<span>{each.value} <span class="soft">{_MEANING[each]}</span></span></li>'
        for each in _ORDER
    )
    return f'<div class="top">{_ring(share)}<ul class="key">{rows}</ul></div>'


def _ring(share: Share) -> str:
    """A ring of the standings, with the share in the middle."""
    parts = ['<circle class="none" cx="80" cy="80" r="70"/>', *_slices(share)]
    middle = (
        '<circle cx="80" cy="80" r="48" style="fill:var(--card)"/>'
        f'<text x="80" y="84" text-anchor="middle" style="font-size:24px;font-weight:600">{share.percent}</text>'
        f'<text x="80" y="104" text-anchor="middle" class="soft" style="font-size:12px">of {share.total}</text>'
    )
    return _svg(160, 160, f"{share.percent} of {share.total} resources are as wanted", [*parts, middle])


def _slices(share: Share) -> Iterator[str]:
    at = 0.0
    for each in _ORDER:
        number = share.counts.get(each, 0)
        if number == share.total and number:
            yield f'<circle class="{_CLASS[each]}" cx="80" cy="80" r="70"/>'
        elif number:
            until = at + number / share.total
            (x1, y1), (x2, y2) = _on_ring(at), _on_ring(until)
            large = int(until - at > 0.5)
            yield (
                f'<path class="{_CLASS[each]}" d="M80 80L{x1:.2f} {y1:.2f}A70 70 0 {large} 1 {x2:.2f} {y2:.2f}Z">'
                f"<title>{number} {each.value}</title></path>"
            )
            at = until


def _on_ring(part: float) -> tuple[float, float]:
    angle = 2 * math.pi * part - math.pi / 2
    return 80 + 70 * math.cos(angle), 80 + 70 * math.sin(angle)


def _svg(wide: int, high: int, title: str, parts: Iterable[str], style: str = "") -> str:
    more = f' style="{style}"' if style else ""
    return (
        f'<svg viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img"{more}>'
        f"<title>{_text(title)}</title>{''.join(parts)}</svg>"
    )


def _shares(title: str, head: str, shares: Sequence[Share]) -> str:
    if not shares:
        return ""
    rows = "".join(
        f'<tr><td class="name"><code>{_text(each.name)}</code></td><td class="bar">{_bar(each)}</td>'
        f'<td class="num">{each.percent}</td><td class="num soft">{_share(each)}</td></tr>'
        for each in shares
    )
    heads = f'<tr><th>{head}</th><th></th><th class="num"></th><th class="num">as wanted</th></tr>'
    return f'<h2>{title}</h2><div class="wide"><table>{heads}{rows}</table></div>'


def _share(share: Share) -> str:
    return f"{share.counts.get(Standing.AS_WANTED, 0)} of {share.total}" if share.total else "nothing found"


def _bar(share: Share) -> str:
    """A stacked bar of the standings."""
    parts, at = ['<rect class="none" width="400" height="14" rx="3"/>'], 0.0
    for each in _ORDER:
        number = share.counts.get(each, 0)
        wide = 400 * number / share.total if share.total else 0.0
        if number:
            parts.append(
                f'<rect class="{_CLASS[each]}" x="{at:.2f}" width="{max(wide, 1.5):.2f}" height="14">'
                f"<title>{number} {each.value}</title></rect>"
            )
        at += wide
    return _svg(400, 14, f"{share.name}: {share.percent} as wanted", parts, "width:100%;height:14px;margin-top:5px")


def _findings(report: Report) -> str:
    findings = report.findings
    if not findings:
        told = "Every tag is as it is asked for." if report.whole.total else "There is no resource to look at."
        if report.blind:
            told = "None where tags could be looked at, and they could not everywhere: see below."
        return f"<h2>Findings</h2><p>{told}</p>"
    heads = "".join(f"<th>{each}</th>" for each in ("standing", "resource", "region", "tag", "is", "asked for", "why"))
    rows = "".join(map(_finding, findings))
    return f'<h2>Findings ({len(findings)})</h2><div class="wide"><table><tr>{heads}</tr>{rows}</table></div>'


def _finding(found: Finding) -> str:
    code = f'<code title="{_text(found.resource)}">{_text(shortened(found.resource))}</code>'
    cells = (
        ("fix", f'<span class="tag {_CLASS[Standing(found.standing)]}">{_text(found.standing)}</span>'),
        ("fix", code),
        ("fix", _text(found.region)),
        *(("key", f"<code>{_text(each)}</code>") for each in (found.key, found.found, found.wanted)),
        ("why", _text(found.why)),
    )
    row = "".join(f'<td class="{name}">{cell}</td>' for name, cell in cells)
    return f"<tr>{row}</tr>"


def _open(told: Sequence[str]) -> str:
    if not told:
        return ""
    return f"<h2>Not known, or stopped</h2><ul>{''.join(f'<li>{_text(each)}</li>' for each in told)}</ul>"
