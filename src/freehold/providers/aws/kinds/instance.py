"""Kind ``instance``: bastions and machines. It is shown as ``terminated`` for an hour.

Request: ``name``, ``image_id``, ``instance_type``, ``subnet_id``, ``security_groups``; where wanted ``key_name`` (an
empty one means none, and is compared), ``user_data`` (text, or a reference to a secret) and
``associate_public_ip_address`` (else the subnet decides). How it is launched is in :mod:`launch`. Parts:
:func:`registrations.registration_part`, of this instance alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from freehold.engine.errors import NoCapacity, NotFound
from freehold.engine.kinds import AttributeRules, CreateRules, Kind, NameRules, PartRules, ReadRules
from freehold.engine.resources import Birth, Observed, Ref, Request, State
from freehold.providers.aws import launch, reading
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource, epoch
from freehold.providers.aws.ec2 import Ec2Driver, Ec2Shape
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.reading import Ec2Read, location_of
from freehold.providers.aws.registrations import DRAIN_TIME, REGISTRATION, Registrations
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import tag_map

_STATES: Mapping[str, State] = {
    "pending": State.PENDING,
    "running": State.READY,
    "stopping": State.PENDING,
    "stopped": State.PENDING,
    "shutting-down": State.DELETING,
}
"""States of instances. A stopped one exists, and is not replaced."""


def decode(body: Json, place: AwsLocation) -> DecodedResource | None:
    word = body["State"]["Name"]
    if word == "terminated":
        return None
    ident, cards = body["InstanceId"], body.get("NetworkInterfaces", ())
    return DecodedResource(
        id=ident,
        arn=place.ec2_arn("instance", ident),
        state=_STATES.get(word, State.PENDING),
        vendor_state=word,
        tags=tag_map(body.get("Tags", ())),
        attributes={
            "vpc_id": body.get("VpcId", ""),
            "subnet_id": body.get("SubnetId", ""),
            "image_id": body.get("ImageId", ""),
            "instance_type": body.get("InstanceType", ""),
            "key_name": body.get("KeyName", ""),
            "security_groups": sorted(row["GroupId"] for row in body.get("SecurityGroups", ())),
            "private_address": body.get("PrivateIpAddress", ""),
            "public_address": body.get("PublicIpAddress", ""),
            "private_dns": body.get("PrivateDnsName", ""),
            "public_dns": body.get("PublicDnsName", ""),
            "ipv6": sorted(each["Ipv6Address"] for card in cards for each in card.get("Ipv6Addresses", ())),
            "zone": body.get("Placement", {}).get("AvailabilityZone", ""),
            **launch.shown_attributes(body),
        },
        created_at=epoch(body.get("LaunchTime")),
        message=body.get("StateReason", {}).get("Message", ""),
        shows_parts=False,
    )


READ = Ec2Read("describe_instances", "Reservations", "instance-id", decode, nested_items="Instances")


class InstanceDriver(Ec2Driver):
    """A driver. An instance is created once: its data go with it."""

    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create it. A repeated token returns the first instance, even a terminated one.

        A refusal for want of capacity is noted for the next machine.
        """
        place = await location_of(self._client)
        try:
            body = await self._client.write(
                "ec2",
                "run_instances",
                request["name"],
                MinCount=1,
                MaxCount=1,
                ClientToken=birth.token,
                TagSpecifications=birth_tags.tag_specifications(birth, "instance", "volume", "network-interface"),
                **launch.parameters_of(request),
            )
        except NoCapacity:
            self._client.session.capacity_log.note(request["instance_type"], request["subnet_id"])
            raise
        (row,) = body["Instances"]
        seen = decode(row, place) or decode({**row, "State": {"Name": "shutting-down"}}, place)
        assert seen is not None
        return seen.to_observed()

    async def update(self, ref: Ref, changes: Request) -> None:
        """Change the groups of the first interface: those that the cluster's network adds have their own.

        An instance with several takes no groups (ModifyInstanceAttribute,
        https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyInstanceAttribute.html).
        """
        await self._client.write(
            "ec2",
            "modify_network_interface_attribute",
            ref.id,
            NetworkInterfaceId=await self._find_first_interface(ref.id),
            Groups=list(changes["security_groups"]),
        )

    async def _find_first_interface(self, ident: str) -> str:
        filters = [{"Name": "instance-id", "Values": [ident]}]
        rows = await self._client.read_list("ec2", "describe_instances", "Reservations", ident, Filters=filters)
        for each in (one for row in rows for one in row["Instances"]):
            for card in each.get("NetworkInterfaces", ()):
                if card["Attachment"]["DeviceIndex"] == 0:
                    return str(card["NetworkInterfaceId"])
        raise NotFound(f"instance {ident} has no network interface", advice="Check that it still exists")

    async def _list_siblings(self, request: Request) -> list[DecodedResource]:
        """Return those in the subnet that the request names: a create that was cut off asked for that one."""
        return await reading.read_by_filter(self._client, READ, "subnet-id", [str(request["subnet_id"])])

    async def delete(self, ref: Ref) -> None:
        await self._client.write("ec2", "terminate_instances", ref.id, InstanceIds=[ref.id])


def _may_be_ours(request: Request, seen: DecodedResource) -> bool:
    return all(seen.attributes[name] == request[name] for name in ("image_id", "instance_type", "subnet_id"))


_SHAPE = Ec2Shape(
    facts=FACTS["instance"],
    read=READ,
    create="run_instances",
    reply="Instances",
    delete="terminate_instances",
    ident="InstanceIds",
    params=dict,
    may_be_ours=_may_be_ours,
)
"""Without a parent: the subnet of a machine may be another one after each refusal, so the region is searched."""


def kind(client: AwsClient) -> Kind:
    driver, registrations = InstanceDriver(client, _SHAPE), Registrations(client)
    return aws_kind(
        "instance",
        driver,
        requires=("subnet", "security-group", "internet-gateway"),
        naming=NameRules(has_no_name=True),
        creation=CreateRules(never_recreate=True, find_untagged=driver),
        attributes=AttributeRules(
            mutable=frozenset({"security_groups"}),
            changeable=frozenset({"instance_type", "user_data", "associate_public_ip_address"}),
            create_only=launch.CREATE_ONLY,
            addresses=frozenset({"public_address", "private_address"}),
        ),
        parts=PartRules(
            driver=registrations,
            finder=registrations,
            holding=frozenset({REGISTRATION}),
            drain_time=DRAIN_TIME,
            independent=True,
        ),
        reads=ReadRules(listing=driver, made_together=True),
    )
