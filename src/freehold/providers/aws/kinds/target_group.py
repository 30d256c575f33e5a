"""Kind ``target-group``: its engine id is its ARN. Its targets are parts of machines (:mod:`registrations`), not of it.

Request: ``name``, ``protocol``, ``port``, ``vpc_id``, ``target_type``, ``health_check``, ``attributes``, and
``ip_address_type`` where it is not ``ipv4``. A health check has the members that AWS gives it; attributes are AWS's,
with its text values, those that :data:`ATTRIBUTES` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freehold.engine.drivers import User
from freehold.engine.errors import InUse
from freehold.engine.kinds import AttributeRules, CreateRules, DeleteRules, Kind, NameRules, ReadRules
from freehold.engine.resources import Birth, Observed, Ref, Request, State
from freehold.providers.aws import balancing
from freehold.providers.aws.balancing import BalancingRead
from freehold.providers.aws.balancing_driver import BalancingDriver, identify
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.reading import location_of
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import tag_list, tag_map

PRESERVES_CLIENT_IP = "preserve_client_ip.enabled"
CUTS_UNHEALTHY = "target_health_state.unhealthy.connection_termination.enabled"
DRAINS_UNHEALTHY = "target_health_state.unhealthy.draining_interval_seconds"
ATTRIBUTES = (PRESERVES_CLIENT_IP, CUTS_UNHEALTHY, DRAINS_UNHEALTHY)
"""Attributes that a request has; no other is read."""
_AT_BIRTH = {"instance": {"attributes": {PRESERVES_CLIENT_IP: "true", CUTS_UNHEALTHY: "true", DRAINS_UNHEALTHY: "0"}}}
"""Attributes of a new group, by its type of targets; those of other types depend on more.

https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html
"""
_HEALTH_CHECK = (
    "HealthCheckProtocol",
    "HealthCheckPort",
    "HealthCheckPath",
    "HealthCheckIntervalSeconds",
    "HealthCheckTimeoutSeconds",
    "HealthyThresholdCount",
    "UnhealthyThresholdCount",
)


def decode(body: Json, place: AwsLocation) -> DecodedResource:
    arn = body["TargetGroupArn"]
    return DecodedResource(
        id=arn,
        arn=arn,
        state=State.READY,
        tags={},
        attributes={
            "name": body["TargetGroupName"],
            "vpc_id": body.get("VpcId", ""),
            "protocol": body.get("Protocol", ""),
            "port": body.get("Port"),
            "target_type": body.get("TargetType", ""),
            "ip_address_type": body.get("IpAddressType", "ipv4"),
            "health_check": {name: body[name] for name in _HEALTH_CHECK if name in body},
            "balancers": sorted(body.get("LoadBalancerArns", ())),
        },
    )


READ = BalancingRead("elbv2", "describe_target_groups", "TargetGroups", "TargetGroupArns", decode, "Names")


class TargetGroupDriver(BalancingDriver):
    """A driver. A group is ready at once and gone at once; the delete of a missing one succeeds."""

    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create it. AWS returns an existing one with this name and these settings, of any owner."""
        await location_of(self._client)  # before the write: a failure after it would lose the reply
        family = request.get("ip_address_type", "ipv4")
        body = await self._client.write(
            "elbv2",
            "create_target_group",
            request["name"],
            Name=request["name"],
            Protocol=request["protocol"],
            Port=request["port"],
            VpcId=request["vpc_id"],
            TargetType=request["target_type"],
            Tags=birth_tags.birth_tag_list(birth),
            **request["health_check"],
            **({"IpAddressType": family} if family != "ipv4" else {}),
        )
        return await self._observe_reply(body["TargetGroups"][0], birth, _AT_BIRTH.get(request["target_type"]))

    async def update(self, ref: Ref, changes: Request) -> None:
        if "health_check" in changes:
            await self._change(ref, "modify_target_group", **changes["health_check"])
        if "attributes" in changes:
            async with self._writing_attributes(ref.id, {"attributes": changes["attributes"]}):
                await self._change(ref, "modify_target_group_attributes", Attributes=tag_list(changes["attributes"]))

    async def delete(self, ref: Ref) -> None:
        """Delete it. AWS does not say which load balancers refuse that."""
        try:
            await self._client.write("elbv2", "delete_target_group", ref.id, TargetGroupArn=ref.id)
        except InUse as refused:
            seen = (await self.observe([ref])).get(ref.id)
            raise refused.held_by(", ".join(seen.attributes["balancers"]) if seen else "") from refused

    def identify(self, target: str, carried: str = "") -> str:
        return identify(target, "targetgroup")

    async def users(self, ref: Ref) -> Sequence[User]:
        """Return the targets: somebody's machines."""
        rows = await balancing.read_targets(self._client, ref.id)
        return sorted(User(f"target {row['Id']} {row.get('Port', '')}".rstrip()) for row in rows)

    async def _change(self, ref: Ref, operation: str, **what: Any) -> None:
        await self._client.write("elbv2", operation, ref.id, TargetGroupArn=ref.id, **what)

    async def _read_attributes(self, ident: str) -> Mapping[str, object]:
        body = await self._client.read("elbv2", "describe_target_group_attributes", ident, TargetGroupArn=ident)
        found = tag_map(body["Attributes"])
        return {"attributes": {name: found[name] for name in ATTRIBUTES if name in found}}


def kind(client: AwsClient) -> Kind:
    driver = TargetGroupDriver(client, READ)
    return aws_kind(
        "target-group",
        driver,
        requires=("vpc",),
        naming=NameRules(name_in_region=True),
        creation=CreateRules(answers_existing=True),
        attributes=AttributeRules(
            mutable=frozenset({"health_check", "attributes"}),
            at_birth=lambda request: _AT_BIRTH.get(request["target_type"], {"attributes": None}),
        ),
        deletion=DeleteRules(usage=driver, gone_at_once=True),
        reads=ReadRules(listing=driver, attribute_cache=driver),
    )
