"""``freehold tags report``: how far tags are as they are asked for, by object and kind, and what is not.

It is made of plans: what the controller would change is what is not as it was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.cli.commands.tags_plan import find_cloud_metadata, plans_of, refuse_unclear
from freehold.cli.local.access import Access, access
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.session import open_session
from freehold.cli.output.formats import emit
from freehold.cli.output.tables import Rows, format_table
from freehold.cli.output.tags_findings import Finding, Share, TagsReport
from freehold.cli.output.tags_text import quote_tag_text
from freehold.cli.output.terminal import columns, say, shorten_names, tell, width
from freehold.tags.pass_summary import TagStanding

if TYPE_CHECKING:
    from freehold.tags.tag_plan import ResourceChanges, TagPlan, TagRow

_DRIFT = ("Stripped", "Drifted")


_TOLD = (TagStanding.DRIFTED, TagStanding.DIFFERS, TagStanding.REFUSED, TagStanding.UNKNOWN)


def run(
    output: str, simulate: bool, speed: float, namespace: str, state: Path | None, kubeconfig: str, simulator: str,
    keys_namespace: str,
) -> None:  # fmt: skip
    """Run the command. Raises CliError, after the report, where not all is known."""
    target = access(
        state=state, kubeconfig=kubeconfig, operator=False, simulate=simulate, speed=speed, simulator=simulator,
        keys_namespace=keys_namespace, log=False,
    )  # fmt: skip
    plans, made, cloud = run_to_end(_plans(target, namespace))
    report = report_of(plans, made, cloud)
    if output == "table":
        _print(report)
    else:
        emit(output, _document(report))
    refuse_unclear(plans)


async def _plans(target: Access, namespace: str) -> tuple[list[TagPlan], str, str]:
    async with open_session(target) as session:
        keys = await find_cloud_metadata(session, "", namespace or session.namespace, anywhere=not namespace)
        plans = await plans_of(session, target, (), keys)
        made = datetime.fromtimestamp(session.clock.now(), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return plans, made, session.describe().partition(", ")[0]


def report_of(plans: Sequence[TagPlan], made: str, cloud: str) -> TagsReport:
    kinds: dict[str, Counter[TagStanding]] = {}
    objects = []
    for plan in plans:
        of_kind = {kind: Counter({TagStanding.AS_WANTED: number}) for kind, number in plan.kinds.items()}
        for each in plan.resources:
            of_kind[each.kind][TagStanding.AS_WANTED] -= 1
            of_kind[each.kind][standing(each)] += 1
        for kind in plan.unread.values():
            of_kind.setdefault(kind, Counter())[TagStanding.UNKNOWN] += 1
        total: Counter[TagStanding] = Counter()
        for kind, counts in of_kind.items():
            total.update(counts)
            kinds.setdefault(kind, Counter()).update(counts)
        objects.append(Share(plan.object, total))
    findings = tuple(finding for plan in plans for finding in _findings(plan))
    told = tuple(f"{each.object}: {said}" for each in plans for said in (*each.problems, *each.unanswered, *each.notes))
    by_kind = tuple(Share(kind, counts) for kind, counts in sorted(kinds.items()))
    return TagsReport(made, cloud, tuple(objects), by_kind, findings, told)


def standing(resource: ResourceChanges) -> TagStanding:
    """Say how the most urgent of its rows stands."""
    found = {_of_row(row) for row in resource.rows} | ({TagStanding.REFUSED} if resource.notes else set())
    return next((each for each in TagStanding if each in found), TagStanding.AS_WANTED)


def _of_row(row: TagRow) -> TagStanding:
    if row.action.changes:
        return TagStanding.DRIFTED if row.cause in _DRIFT else TagStanding.DIFFERS
    return TagStanding.REFUSED if row.why else TagStanding.AS_WANTED


def _findings(plan: TagPlan) -> Iterator[Finding]:
    from freehold.cli.output.tags_text import omit_resource_name, why

    for each in plan.resources:
        place = (plan.object, each.resource, each.kind, each.account, each.region)
        for row in each.rows:
            if (how := _of_row(row)) is not TagStanding.AS_WANTED:
                found = " and ".join(row.before)
                wanted = row.after if row.after is not None else ""
                yield Finding(*place, row.key, found, wanted, how.value, omit_resource_name(each, why(row)))
        for note in each.notes:
            yield Finding(*place, "", "", "", TagStanding.REFUSED.value, omit_resource_name(each, note))
    for resource, kind in plan.unread.items():
        why_not = "it could not be read: its tags are not known"
        yield Finding(plan.object, resource, kind, "", "", "", "", "", TagStanding.UNKNOWN.value, why_not)


def _document(report: TagsReport) -> dict[str, object]:
    shares = {
        name: [{"name": each.name, "resources": each.total, **_counts(each)} for each in found]
        for name, found in (("objects", report.objects), ("kinds", report.kinds))
    }
    findings = [asdict(each) for each in report.findings]
    return {"made": report.made, "cloud": report.cloud, **shares, "findings": findings, "open": list(report.open_)}


def _counts(share: Share) -> dict[str, int]:
    return {each.value: share.counts.get(each, 0) for each in TagStanding}


def _print(report: TagsReport) -> None:
    if not report.objects:
        return  # it was said that there are none
    told = [each for each in _TOLD if each is not TagStanding.UNKNOWN or report.whole.counts.get(each)]
    heads = ("OBJECT", "FOUND", *(each.value.upper() for each in (TagStanding.AS_WANTED, *told)))
    for line in columns([heads, *(_share_row(each, told) for each in report.objects)]):
        say(line)
    if report.findings:
        say()
        rows = tuple((each.standing, shorten_names(each.resource), _describe_finding(each)) for each in report.findings)
        for line in format_table(Rows(("STANDING", "RESOURCE", "WHY"), rows), width()):
            say(line)
    for note in report.open_:
        tell(f"note: {note}")


def _share_row(share: Share, told: Sequence[TagStanding]) -> tuple[str, ...]:
    counts = [str(share.counts.get(each, 0)) for each in told]
    good = f"{share.counts.get(TagStanding.AS_WANTED, 0)} ({share.percent})"
    return share.name, str(share.total), good, *counts


def _describe_finding(finding: Finding) -> str:
    if not finding.key:
        return finding.why
    values = [quote_tag_text(each) if each else "(none)" for each in (finding.found, finding.wanted)]
    if finding.standing == TagStanding.REFUSED:
        return f"{quote_tag_text(finding.key)} is {values[0]}: {finding.why}"
    return f"{quote_tag_text(finding.key)}: {' → '.join(values)}, {finding.why}"
