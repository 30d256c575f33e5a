"""Where given resources are: in the VPC of the spec, in its zone. One that is elsewhere is refused before any create.

The cloud would refuse it only when the rest is there already: a load balancer with a subnet of another VPC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from freehold.engine.journal import Journal
from freehold.engine.resources import Observed, Want
from freehold.providers.ibm.powervs import keys, recorded
from freehold.providers.ibm.powervs.existing import IdLookup
from freehold.providers.ibm.powervs.facts import Given, Places
from freehold.providers.ibm.powervs.network import workspace_id
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere, SeveralFound
from freehold.providers.objects.spec_problems import SpecProblem


class PlaceReader(Protocol):
    """Where the answers come from."""

    async def place(self, kind: str, region: str, ident: str) -> Answer[str] | NotThere | NoAnswer:
        """Return the zone of a workspace, the VPC of a subnet, a security group or a load balancer."""
        ...

    async def look_up(self, lookup: IdLookup) -> Answer[Observed] | NotThere | SeveralFound | NoAnswer: ...


async def ask(reader: PlaceReader, spec: IBMPowerVSClusterSpec, journal: Journal | None) -> Places:
    """Ask where everything is that the spec gives by id and that is not this object's own."""
    region = (spec.vpc and spec.vpc.region) or ""
    of = {one: await reader.place(one.kind, region, one.id) for one in list_given_ids(spec, journal)}
    name = spec.vpc and not spec.vpc.id and spec.vpc.name
    inside = any(one.kind != keys.WORKSPACE.kind for one in of)
    if not (inside and name and region) or _recorded_vpc(journal):
        return Places(of)
    return Places(of, await reader.look_up(Want(keys.VPC, name, {"name": name, "region": region})))


def list_given_ids(spec: IBMPowerVSClusterSpec, journal: Journal | None) -> Iterator[Given]:
    """Return what is to be asked about; without a zone or a region nothing can be said."""
    record = journal.entries if journal else {}
    for one in _ids(spec):
        if one.id and not recorded.own_by_id(one.kind, one.id, record):
            yield one


def _ids(spec: IBMPowerVSClusterSpec) -> Iterator[Given]:
    if spec.zone and (ident := workspace_id(spec)):
        by_id = spec.service_instance and spec.service_instance.id
        yield Given("spec.serviceInstance.id" if by_id else "spec.serviceInstanceID", keys.WORKSPACE.kind, ident)
    if not (spec.vpc and spec.vpc.region):
        return
    for i, subnet in enumerate(spec.vpc_subnets):
        yield Given(f"spec.vpcSubnets[{i}].id", keys.SUBNET_KIND, subnet.id or "")
    for i, group in enumerate(spec.vpc_security_groups):
        yield Given(f"spec.vpcSecurityGroups[{i}].id", keys.GROUP_KIND, group.id or "")
    for i, balancer in enumerate(spec.load_balancers):
        field = f"spec.loadBalancers[{i}]"
        yield Given(f"{field}.id", keys.BALANCER_KIND, balancer.id or "")
        for j, reference in enumerate(() if balancer.id else balancer.subnets):
            yield Given(f"{field}.subnets[{j}].id", keys.SUBNET_KIND, reference.id or "")
        for j, reference in enumerate(() if balancer.id else balancer.security_groups):
            yield Given(f"{field}.securityGroups[{j}].id", keys.GROUP_KIND, reference.id or "")


def _recorded_vpc(journal: Journal | None) -> str:
    entry = journal.get(keys.VPC) if journal else None
    return entry.id.rpartition("/")[2] if entry else ""


def check(spec: IBMPowerVSClusterSpec, places: Places, journal: Journal | None) -> Iterator[SpecProblem]:
    """Find what is somewhere else than the spec says. What does not exist is told by the engine."""
    for one, answer in places.of.items():
        if not isinstance(answer, Answer):
            continue
        if one.kind == keys.WORKSPACE.kind:
            if answer.value != spec.zone:
                message = f"workspace {one.id} is in zone {answer.value!r}, and spec.zone is {spec.zone!r}: correct one"
                yield SpecProblem(one.field, message)
        elif (vpc := _vpc(spec, places, journal)) is not None and answer.value != vpc:
            wanted = f"spec.vpc means VPC {vpc}" if vpc else "spec.vpc means a VPC that is to be created"
            yield SpecProblem(
                one.field,
                f"{one.kind} {one.id} is in VPC {answer.value}, and {wanted}: give one that is in it, or write "
                f"{answer.value} as spec.vpc.id",
            )


def _vpc(spec: IBMPowerVSClusterSpec, places: Places, journal: Journal | None) -> str | None:
    """Return the id of the VPC that the spec means; empty if it does not exist yet, None if that is not known."""
    if spec.vpc and spec.vpc.id:
        return spec.vpc.id
    if known := _recorded_vpc(journal):
        return known
    match places.vpc:
        case Answer(value=seen):
            return seen.id.rpartition("/")[2]
        case SeveralFound() | NoAnswer():
            return None
    return ""


def missing(places: Places) -> Mapping[str, NoAnswer]:
    """Return what could not be asked, by field."""
    found = {one.field: answer for one, answer in places.of.items() if isinstance(answer, NoAnswer)}
    return found | ({"spec.vpc.name": places.vpc} if isinstance(places.vpc, NoAnswer) else {})
