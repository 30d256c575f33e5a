"""``freehold tags list``: the resources that have a tag, with all their tags, as the index of the cloud shows them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.cli.errors import MISUSED, CliError
from freehold.cli.local.access import Access, access
from freehold.cli.local.cloud_reads import settings_of, simulator_of
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.session import opened
from freehold.cli.output.formats import emit
from freehold.cli.output.tables import Rows, printed
from freehold.cli.output.tags_csv import print_csv
from freehold.cli.output.tags_text import shown
from freehold.cli.output.terminal import say, shortened, tell, width

if TYPE_CHECKING:
    from freehold.tagging.resources import Resource

Selector = tuple[str, str | None]
"""A key and its value; None for any value."""


def run(
    selector: Sequence[str], cloud: str, region: Sequence[str], output: str, simulate: bool, speed: float,
    namespace: str, state: Path | None, kubeconfig: str, simulator: str, keys_namespace: str,
) -> None:  # fmt: skip
    """The command. Raises CliError."""
    wanted = [parsed(each) for each in selector]
    if cloud == "ibm" and wanted[0][1] is None:
        raise CliError("on IBM Cloud a tag is found by all of it: give KEY=VALUE, or KEY= for a label", code=MISUSED)
    target = access(
        state=state, kubeconfig=kubeconfig, operator=False, simulate=simulate, speed=speed, simulator=simulator,
        keys_namespace=keys_namespace, log=False,
    )  # fmt: skip
    found = run_to_end(_found(target, wanted, cloud, tuple(region), namespace))
    match output:
        case "table":
            _print(found)
        case "csv":
            heads = ("resource", "kind", "account", "region", "key", "value")
            print_csv(heads, [row for each in found for row in _csv_rows(each)])
        case _:
            emit(output, [_document(each) for each in found])


def parsed(text: str) -> Selector:
    """``KEY=VALUE``, or ``KEY`` for any value; ``KEY=`` is the empty value. Raises CliError."""
    key, separator, value = text.partition("=")
    if not key:
        raise CliError(f"--selector {text!r}: give KEY=VALUE, or KEY for any value", code=MISUSED)
    return key, value if separator else None


async def _found(
    target: Access, wanted: Sequence[Selector], cloud: str, regions: tuple[str, ...], namespace: str
) -> list[Resource]:
    async with opened(target) as session, AsyncExitStack() as stack:
        # Here, because the session has told by now that something goes on.
        from freehold.controllers.app import connections_of
        from freehold.engine.errors import CloudError
        from freehold.operator.metadata.controller import tag_accounts
        from freehold.operator.metadata.places import Region
        from freehold.providers.access.audit import NoAudit
        from freehold.reconcilers.metadata.demand import Place
        from freehold.reconcilers.metadata.references import Refused
        from freehold.tagging.classifiers import Query
        from freehold.tagging.resources import Cloud

        settings = await settings_of(session, target, await simulator_of(session, target, stack))
        accounts = tag_accounts(
            connections_of(settings, session.client, stack.enter_context(ExitStack()), NoAudit()), session.clock
        )
        own = settings.access[cloud].regions
        where = Place(Cloud(cloud), namespace or session.namespace, regions or own)
        if cloud == Cloud.AWS and not where.regions:
            raise CliError("no region is named: add --region, or set AWS_REGION", code=MISUSED)
        places = await accounts.at(where, "freehold tags list")
        if isinstance(places, Refused):
            raise CliError(places.message)
        found: list[Resource] = []
        (key, value), *_ = wanted
        for place in places:
            if isinstance(place, Region):
                raise CliError(f"{place.region}: {place.error.message}".removeprefix(": "))
            try:
                found += await place.find(Query(key, None if value is None else (value,)))
            except CloudError as problem:
                raise CliError(f"{place.region}: {problem.message}".removeprefix(": ")) from problem
    rows = [each for each in found if all(_has(each, condition) for condition in wanted)]
    narrowed = [each for each in rows if not regions or each.region in regions]
    return sorted(narrowed, key=lambda each: (each.region, each.id))


def _has(resource: Resource, wanted: Selector) -> bool:
    """Compared exactly, but for case where the cloud knows none: its index may know wildcards."""
    from freehold.tagging.resources import canonical

    key, value = canonical(resource.cloud, wanted[0]), wanted[1]
    there = resource.tags.get(key, frozenset())
    return bool(there) if value is None else canonical(resource.cloud, value) in there


def _pairs(resource: Resource) -> list[tuple[str, str]]:
    return sorted((key, value) for key, values in resource.tags.items() for value in values)


def _csv_rows(resource: Resource) -> list[tuple[str, ...]]:
    fixed = (resource.id, resource.kind, resource.account, resource.region)
    return [(*fixed, *pair) for pair in _pairs(resource)]


def _document(resource: Resource) -> dict[str, object]:
    fixed = {"resource": resource.id, "kind": resource.kind, "account": resource.account, "region": resource.region}
    return {**fixed, "tags": [{"key": key, "value": value} for key, value in _pairs(resource)]}


def _print(found: Sequence[Resource]) -> None:
    if not found:
        tell("no resource has this tag, as far as the index of the cloud shows (it is some seconds late)")
        return
    rows = tuple(
        (shortened(each.id), each.region, ", ".join(f"{shown(key)}={shown(value)}" for key, value in _pairs(each)))
        for each in found
    )
    for line in printed(Rows(("RESOURCE", "REGION", "TAGS"), rows), width()):
        say(line)
