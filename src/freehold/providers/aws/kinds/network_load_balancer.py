"""Kind ``network-load-balancer``: its engine id is its ARN. Application load balancers are decoded too.

Request: ``name``, ``scheme``, ``subnets``, ``security_groups``, ``attributes``, and ``ip_address_type`` where it is not
``ipv4``. Lists are sorted; attributes are AWS's, with its text values, those that :data:`ATTRIBUTES` names.

A load balancer that was created without security groups can never have any
(https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_SetSecurityGroups.html).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freehold.engine.drivers import User
from freehold.engine.kinds import AttributeRules, CreateRules, DeleteRules, Kind, NameRules, ReadRules
from freehold.engine.resources import Birth, Observed, Ref, Request, State
from freehold.providers.aws import balancing, delete_blockers
from freehold.providers.aws.balancing import BalancingRead
from freehold.providers.aws.balancing_driver import BalancingDriver, identify
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource, epoch
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.reading import location_of
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import tag_list, tag_map

ATTRIBUTES = ("load_balancing.cross_zone.enabled",)
"""Attributes that a request may have; no other is read."""

AT_BIRTH = {"attributes": {"load_balancing.cross_zone.enabled": "false"}}
"""Attributes of a new load balancer.

https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-load-balancer-attributes.html
"""
_STATES: Mapping[str, State] = {
    "provisioning": State.PENDING,
    "active": State.READY,
    "active_impaired": State.READY,
    "failed": State.FAILED,
}


def decode(body: Json, place: AwsLocation) -> DecodedResource:
    arn, word = body["LoadBalancerArn"], body["State"]["Code"]
    zones = body.get("AvailabilityZones", ())
    return DecodedResource(
        id=arn,
        arn=arn,
        state=_STATES.get(word, State.PENDING),
        vendor_state=word,
        tags={},
        attributes={
            "name": body["LoadBalancerName"],
            "address": body.get("DNSName", ""),
            "zone_id": body.get("CanonicalHostedZoneId", ""),
            "vpc_id": body.get("VpcId", ""),
            "scheme": body.get("Scheme", ""),
            "type": body.get("Type", ""),
            "ip_address_type": body.get("IpAddressType", ""),
            "security_groups": sorted(body.get("SecurityGroups", ())),
            "subnets": sorted(row["SubnetId"] for row in zones),
        },
        created_at=epoch(body.get("CreatedTime")),
        message=body["State"].get("Reason", ""),
    )


READ = BalancingRead("elbv2", "describe_load_balancers", "LoadBalancers", "LoadBalancerArns", decode, "Names")


class NetworkLoadBalancerDriver(BalancingDriver):
    """A driver. Listeners go with their load balancer; the delete of a missing one succeeds."""

    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create it. AWS returns an existing one with this name and these settings, of any owner."""
        await location_of(self._client)  # before the write: a failure after it would lose the reply
        family = request.get("ip_address_type", "ipv4")
        body = await self._client.write(
            "elbv2",
            "create_load_balancer",
            request["name"],
            Name=request["name"],
            Type="network",
            Scheme=request["scheme"],
            Subnets=list(request["subnets"]),
            Tags=birth_tags.birth_tag_list(birth),
            **({"SecurityGroups": list(request["security_groups"])} if request["security_groups"] else {}),
            **({"IpAddressType": family} if family != "ipv4" else {}),
        )
        return await self._observe_reply(body["LoadBalancers"][0], birth, AT_BIRTH)

    async def update(self, ref: Ref, changes: Request) -> None:
        if "subnets" in changes:
            await self._change(ref, "set_subnets", Subnets=list(changes["subnets"]))
        if "security_groups" in changes:
            await self._change(ref, "set_security_groups", SecurityGroups=list(changes["security_groups"]))
        if "attributes" in changes:
            async with self._writing_attributes(ref.id, {"attributes": changes["attributes"]}):
                await self._change(ref, "modify_load_balancer_attributes", Attributes=tag_list(changes["attributes"]))

    async def _change(self, ref: Ref, operation: str, **what: Any) -> None:
        await self._client.write("elbv2", operation, ref.id, LoadBalancerArn=ref.id, **what)

    async def delete(self, ref: Ref) -> None:
        await self._client.write("elbv2", "delete_load_balancer", ref.id, LoadBalancerArn=ref.id)

    def identify(self, target: str, carried: str = "") -> str:
        return identify(target, "loadbalancer/net")

    async def leftovers(self, ref: Ref) -> Sequence[str]:
        return await delete_blockers.balancer_interfaces(self._client, ref.id.partition("loadbalancer/")[2])

    async def users(self, ref: Ref) -> Sequence[User]:
        """Return the targets behind its listeners: somebody's machines."""
        groups = await self._client.read_list(
            "elbv2", "describe_target_groups", "TargetGroups", ref.id, LoadBalancerArn=ref.id
        )
        inside = [await balancing.read_targets(self._client, row["TargetGroupArn"]) for row in groups]
        return sorted(User(f"target {row['Id']} {row.get('Port', '')}".rstrip()) for rows in inside for row in rows)

    async def _read_attributes(self, ident: str) -> Mapping[str, object]:
        body = await self._client.read("elbv2", "describe_load_balancer_attributes", ident, LoadBalancerArn=ident)
        found = tag_map(body["Attributes"])
        return {"attributes": {name: found[name] for name in ATTRIBUTES if name in found}}


def kind(client: AwsClient) -> Kind:
    driver = NetworkLoadBalancerDriver(client, READ)
    return aws_kind(
        "network-load-balancer",
        driver,
        requires=("subnet", "security-group", "internet-gateway"),
        naming=NameRules(name_in_region=True),
        creation=CreateRules(answers_existing=True),
        attributes=AttributeRules(
            mutable=frozenset({"subnets", "security_groups", "attributes"}),
            at_birth=lambda request: AT_BIRTH,
            addresses=frozenset({"address"}),
            changeable=frozenset({"ip_address_type"}),
        ),
        deletion=DeleteRules(usage=driver, leftovers=driver, gone_at_once=True),
        reads=ReadRules(listing=driver, attribute_cache=driver),
    )
