"""Kind ``classic-load-balancer``: its engine id is its name. Listeners and subnets are parts.

Request: ``name``, ``scheme``, ``subnets``, ``security_groups``, ``listeners`` (it is born with them), ``health_check``,
``idle_timeout`` and ``cross_zone``. Lists are sorted; listeners and health check have the members that AWS gives them.
Parts: :func:`listener_part` and ``Part(SUBNET, id)``. Listeners that others add stay. The machines behind it are shown
as parts too, which only machines add and remove (:mod:`registrations`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freehold.engine.drivers import User
from freehold.engine.errors import Invalid, NotFound
from freehold.engine.kinds import AttributeRules, DeleteRules, Kind, NameRules, PartRules, ReadRules
from freehold.engine.resources import Birth, Observed, Part, Ref, Request, State
from freehold.providers.aws import delete_blockers
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.balancing import BalancingRead
from freehold.providers.aws.balancing_driver import SERVICE, BalancingDriver
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource, epoch
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.reading import location_of
from freehold.providers.aws.tags import birth_tags

LISTENER, SUBNET, INSTANCE = "classic-listener", "balancer-subnet", "instance-registration"
AT_BIRTH = {"idle_timeout": 60, "cross_zone": False}
"""Attributes of a new load balancer.

https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/config-idle-timeout.html and
https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/enable-disable-crosszone-lb.html
"""


def decode(body: Json, place: AwsLocation) -> DecodedResource:
    """Decode a row. It has no state: it is ready at once. Its DNS name has a number that no later namesake gets."""
    name = body["LoadBalancerName"]
    return DecodedResource(
        id=name,
        arn=str(Arn(place.partition, SERVICE, place.region, place.account, f"loadbalancer/{name}")),
        state=State.READY,
        tags={},
        attributes={
            "name": name,
            "address": body.get("DNSName", ""),
            "zone_id": body.get("CanonicalHostedZoneNameID", ""),
            "vpc_id": body.get("VPCId", ""),
            "scheme": body.get("Scheme", ""),
            "security_groups": sorted(body.get("SecurityGroups", ())),
            "health_check": dict(body.get("HealthCheck", {})),
        },
        parts=frozenset(
            [*(listener_part(row["Listener"]) for row in body.get("ListenerDescriptions", ()))]
            + [Part(SUBNET, subnet) for subnet in body.get("Subnets", ())]
            + [Part(INSTANCE, row["InstanceId"]) for row in body.get("Instances", ())]
        ),
        created_at=epoch(body.get("CreatedTime")),
        incarnation=body.get("DNSName", ""),
    )


def listener_part(row: Request) -> Part:
    """Return the part of a listener, one of the request's ``listeners`` or of a reply's."""
    port = str(row["LoadBalancerPort"])
    inner = row.get("InstanceProtocol", row["Protocol"])
    return Part(LISTENER, port, request=dict(row), behavior=f"{row['Protocol']} to {inner} {row['InstancePort']}")


READ = BalancingRead(
    "elb",
    "describe_load_balancers",
    "LoadBalancerDescriptions",
    "LoadBalancerNames",
    decode,
    "LoadBalancerNames",
)


class ClassicLoadBalancerDriver(BalancingDriver):
    """A driver. A create is refused if the name is taken, by anybody; the delete of a missing one succeeds."""

    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create it. The reply shows the address only; the rest is as requested, and as AWS's defaults."""
        self._client.session.attribute_cache.forget(request["name"])  # the attributes of an earlier one of this name
        place = await location_of(self._client)
        listeners = [dict(row) for row in request["listeners"]]
        asked = {"LoadBalancerName": request["name"], "Scheme": request["scheme"], "Subnets": list(request["subnets"])}
        if request["security_groups"]:
            asked["SecurityGroups"] = list(request["security_groups"])
        body = await self._client.write(
            "elb",
            "create_load_balancer",
            request["name"],
            **asked,
            Listeners=listeners,
            Tags=birth_tags.birth_tag_list(birth),
        )
        self._client.session.attribute_cache.keep(request["name"], AT_BIRTH)
        described = [{"Listener": row} for row in listeners]
        return self._without_tags(
            await self._complete(decode({**asked, **body, "ListenerDescriptions": described}, place))
        )

    async def update(self, ref: Ref, changes: Request) -> None:
        if "security_groups" in changes:
            groups = list(changes["security_groups"])
            await self._change(ref, "apply_security_groups_to_load_balancer", SecurityGroups=groups)
        if "health_check" in changes:
            await self._change(ref, "configure_health_check", HealthCheck=dict(changes["health_check"]))
        attributes: Json = {}
        if "idle_timeout" in changes:
            attributes["ConnectionSettings"] = {"IdleTimeout": changes["idle_timeout"]}
        if "cross_zone" in changes:
            attributes["CrossZoneLoadBalancing"] = {"Enabled": changes["cross_zone"]}
        if attributes:
            async with self._writing_attributes(ref.id, {name: changes[name] for name in AT_BIRTH if name in changes}):
                await self._change(ref, "modify_load_balancer_attributes", LoadBalancerAttributes=attributes)

    async def delete(self, ref: Ref) -> None:
        await self._change(ref, "delete_load_balancer")

    def identify(self, target: str, carried: str = "") -> str:
        """Return the name in its ARN, which has no type, unlike those of the second generation."""
        arn = Arn.parse(target)
        fits = arn is not None and (arn.service, arn.type) == (SERVICE, "loadbalancer") and "/" not in arn.id
        return arn.id if arn and fits else ""

    async def leftovers(self, ref: Ref) -> Sequence[str]:
        """Return its interfaces; none if a new one has its name, since their owner is then unknown."""
        left = await delete_blockers.balancer_interfaces(self._client, ref.id)
        return left if left and not await self.observe([ref]) else ()

    async def users(self, ref: Ref) -> Sequence[User]:
        """Return the machines behind it."""
        return sorted(User(str(part)) for part in await self.parts(ref) if part.kind == INSTANCE)

    async def parts(self, ref: Ref) -> frozenset[Part]:
        """Return the parts. The engine has them from every observation, so it does not call this."""
        seen = (await self.observe([ref])).get(ref.id)
        if seen is None:
            raise NotFound(f"the load balancer {ref.id} does not exist", advice="Check that it still exists")
        return seen.parts or frozenset()

    async def add_part(self, ref: Ref, part: Part) -> None:
        await self.add_parts(ref, [part])

    async def remove_part(self, ref: Ref, part: Part) -> None:
        await self.remove_parts(ref, [part])

    async def add_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        """Add parts. A part may exist already, a listener with the same settings only."""
        if listeners := [dict(part.request) for part in parts if part.kind == LISTENER]:
            await self._change(ref, "create_load_balancer_listeners", Listeners=listeners)
        if subnets := [part.natural_key for part in parts if part.kind == SUBNET]:
            await self._attach_subnets(ref, subnets)

    async def remove_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        """Remove parts. A part may be gone already."""
        if ports := [int(part.natural_key) for part in parts if part.kind == LISTENER]:
            await self._change(ref, "delete_load_balancer_listeners", LoadBalancerPorts=ports)
        if subnets := [part.natural_key for part in parts if part.kind == SUBNET]:
            await self._change(ref, "detach_load_balancer_from_subnets", Subnets=subnets)

    async def _attach_subnets(self, ref: Ref, subnets: Sequence[str]) -> None:
        """Attach subnets. It leaves its subnet of a zone before the next, and is always in one (ansible/ansible#8312).

        All its subnets are ours to choose (``exclusive_parts``).
        """
        there = {part.natural_key for part in await self.parts(ref) if part.kind == SUBNET}
        zones = await self._zones_of([*there, *subnets])
        taken = {zones[each]: each for each in there if each in zones}
        if free := sorted(each for each in subnets if zones.get(each) not in taken):
            await self._change(ref, "attach_load_balancer_to_subnets", Subnets=free)
        for each in sorted(set(subnets) - set(free) - there):
            old = taken[zones[each]]
            if not free and there == {old}:
                raise Invalid(
                    f"{ref.id} is in {old} alone, and AWS lets no load balancer into a second subnet of a zone, nor "
                    f"out of its last one. Let it stay in {old}, or give it a subnet of another zone too"
                )
            await self._change(ref, "detach_load_balancer_from_subnets", Subnets=[old])
            await self._change(ref, "attach_load_balancer_to_subnets", Subnets=[each])

    async def _zones_of(self, subnets: Sequence[str]) -> Mapping[str, str]:
        filters = [{"Name": "subnet-id", "Values": sorted(subnets)}]
        rows = await self._client.read_list("ec2", "describe_subnets", "Subnets", ", ".join(subnets), Filters=filters)
        return {row["SubnetId"]: row["AvailabilityZone"] for row in rows}

    async def change_part(self, ref: Ref, part: Part) -> None:
        """Replace a listener: AWS has no call that changes one."""
        await self.remove_part(ref, part)
        await self.add_part(ref, part)

    async def _change(self, ref: Ref, operation: str, **what: Any) -> None:
        await self._client.write("elb", operation, ref.id, LoadBalancerName=ref.id, **what)

    async def _read_attributes(self, ident: str) -> Mapping[str, object]:
        body = await self._client.read("elb", "describe_load_balancer_attributes", ident, LoadBalancerName=ident)
        found = body["LoadBalancerAttributes"]
        return {
            "idle_timeout": found.get("ConnectionSettings", {}).get("IdleTimeout"),
            "cross_zone": found.get("CrossZoneLoadBalancing", {}).get("Enabled"),
        }


def _calls(changes: Request) -> int:
    """Count the calls: one for all of ``AT_BIRTH``, one for each other attribute."""
    return len(changes.keys() - AT_BIRTH.keys()) + (0 if changes.keys().isdisjoint(AT_BIRTH) else 1)


def kind(client: AwsClient) -> Kind:
    driver = ClassicLoadBalancerDriver(client, READ)
    return aws_kind(
        "classic-load-balancer",
        driver,
        requires=("subnet", "security-group", "internet-gateway"),
        naming=NameRules(name_in_region=True, id_returns=True),
        attributes=AttributeRules(
            mutable=frozenset({"security_groups", "health_check", "idle_timeout", "cross_zone"}),
            at_birth=lambda request: {**AT_BIRTH, "health_check": None},
            calls_a_change=_calls,
            addresses=frozenset({"address"}),
        ),
        parts=PartRules(exclusive=frozenset({SUBNET}), born_with=True, driver=driver, batches=driver, changer=driver),
        deletion=DeleteRules(usage=driver, leftovers=driver, gone_at_once=True),
        reads=ReadRules(listing=driver, attribute_cache=driver),
    )
