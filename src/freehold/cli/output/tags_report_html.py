"""The report of tags as one HTML page: two tables, and nothing is loaded from anywhere.

Values are anybody's: each text is escaped where it is put into the page, and its policy allows no script.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Final

from freehold.cli.output.tags_findings import Share, Standing, TagsReport
from freehold.cli.output.terminal import escape_text, shorten_names

_STYLE: Final = """
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:1180px;margin:32px auto;padding:0 24px}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:6px 12px 6px 0;vertical-align:top;
border-bottom:1px solid #8884;overflow-wrap:anywhere}
"""
_FINDINGS: Final = ("standing", "resource", "region", "tag", "is", "asked for", "why")


def page(report: TagsReport) -> str:
    """Render the whole page."""
    shares = [*report.objects, *report.kinds]
    findings = [
        (each.standing, shorten_names(each.resource), each.region, each.key, each.found, each.wanted, each.why)
        for each in report.findings
    ]
    body = [
        f"<h1>Tags: {_headline(report)}</h1><p>{_text(report.cloud)} · {_text(report.made)}</p>",
        _table(("object or kind", *(each.value for each in Standing)), map(_counts, shares)),
        f"<h2>Findings ({len(findings)})</h2>",
        _table(_FINDINGS, findings) if findings else f"<p>{_nothing_found(report)}</p>",
    ]
    if report.open_:
        body.append(
            f"<h2>Not known, or stopped</h2><ul>{''.join(f'<li>{_text(each)}</li>' for each in report.open_)}</ul>"
        )
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>Freehold: tags</title><style>{_STYLE}</style></head>\n<body>{''.join(body)}</body></html>\n"
    )


def _text(text: str) -> str:
    """Escape a text; what is invisible is shown as an escape."""
    return html.escape(escape_text(text), quote=True)


def _headline(report: TagsReport) -> str:
    share = report.whole
    said = f"{share.percent} as wanted" if share.total else "nothing found"
    return f"{said}, of what could be looked at" if report.blind else said


def _nothing_found(report: TagsReport) -> str:
    if report.blind:
        return "None where tags could be looked at, and they could not everywhere: see below."
    return "Every tag is as it is asked for." if report.whole.total else "There is no resource to look at."


def _counts(share: Share) -> tuple[str, ...]:
    return share.name, *(str(share.counts.get(each, 0)) for each in Standing)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ("".join(f"<td>{_text(cell)}</td>" for cell in row) for row in rows)
    head = "".join(f"<th>{each}</th>" for each in heads)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
