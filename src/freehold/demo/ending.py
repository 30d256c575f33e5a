"""The demo's last table: what is still in the cloud, and why it was not deleted. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from freehold.cli.output.terminal import shorten_names
from freehold.demo.checks import CheckedCloud, owner_tags
from freehold.demo.world import CloudResource
from freehold.view.object_view import Line

Row = tuple[str, str, str, str, str]


def closing_table(cloud: CheckedCloud, resources: Sequence[CloudResource], reported: Sequence[Line]) -> list[Row]:
    """One row for each resource. The operator's own words come first, where it had to decide about it."""
    return [
        (each.kind, each.name, each.by, each.state, _why(cloud, each, resources, reported))
        for each in resources
        if each.kind not in cloud.parts
    ]


def reported_as(resource: CloudResource, reported: Sequence[Line]) -> str:
    """Return what the operator said about a resource that it left alone; empty if it said nothing."""
    told = [line for line in reported if line.state == "Kept" and _same(line, resource)]
    return (
        shorten_names(told[0].message or told[0].reason).removeprefix(f"{shorten_names(resource.address)} ")
        if told
        else ""
    )


def _why(
    cloud: CheckedCloud, resource: CloudResource, resources: Sequence[CloudResource], reported: Sequence[Line]
) -> str:
    if told := reported_as(resource, reported):
        return told
    if owner_tags(cloud, resource):
        return "has our tags, but they were made for another resource"
    parent = next((each for each in resources if each.id == resource.parent), None)
    if parent is not None:
        return f"is in {parent.kind} {parent.name}, and has no mark of ours"
    return "has no mark of ours; a name proves nothing"


def _same(line: Line, resource: CloudResource) -> bool:
    """Return whether a line is about the resource, which it may name by its cloud resource name, whole or short."""
    named = {line.id, shorten_names(line.name)} - {""}
    return bool(named & {resource.id, shorten_names(resource.address)})
