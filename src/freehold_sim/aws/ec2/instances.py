"""Instances after their launch: states, attributes, termination; a terminated one stays listed for about an hour.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-lifecycle.html
"""

from base64 import b64encode
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, not_served, reads, writes
from freehold_sim.aws.ec2 import capacity, interfaces, spot, volumes
from freehold_sim.aws.ec2.describing import described, matching, paged_rows, refuse_pages_of_ids
from freehold_sim.aws.ec2.instance_types import TYPES
from freehold_sim.aws.ec2.kinds import find, one_of, show
from freehold_sim.aws.ec2.resources import INSTANCE, INTERFACE
from freehold_sim.aws.health_checks import answer
from freehold_sim.aws.settings import Settings
from freehold_sim.aws.world import Record, World, scope_of

STATUS_FILTERS = {
    "availability-zone": "AvailabilityZone", "availability-zone-id": "AvailabilityZoneId",
    "instance-state-name": "InstanceState.Name", "instance-state-code": "InstanceState.Code",
    "instance-status.status": "InstanceStatus.Status", "system-status.status": "SystemStatus.Status",
}  # fmt: skip
_CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}


def state(name: str) -> dict[str, Any]:
    return {"Code": _CODES[name], "Name": name}


def shown(call: Call, instance: Record) -> dict[str, Any]:
    """Return what EC2 shows of an instance, with its interfaces and volumes."""
    table = call.world.table(call.scope, "network-interface")
    disks = call.world.table(call.scope, "volume")
    cards = [_card(table[ident]) for ident in instance["interfaces"] if ident in table]
    return {
        **show(instance, INSTANCE),
        **_public(call, instance, cards),
        "NetworkInterfaces": cards,
        "BlockDeviceMappings": volumes.mappings([disks[ident] for ident in instance["volumes"] if ident in disks]),
    }


def _public(call: Call, instance: Record, cards: list[dict[str, Any]]) -> dict[str, str]:
    """Return the public address and, where the VPC gives host names, its name.

    https://docs.aws.amazon.com/vpc/latest/userguide/vpc-dns.html
    """
    if not cards or "Association" not in cards[0]:
        return {}
    address = cards[0]["Association"]["PublicIp"]
    vpc = call.world.table(call.scope, "vpc").get(instance["view"].get("VpcId", ""))
    if vpc is None or not vpc["attributes"]["EnableDnsHostnames"]:
        return {"PublicIpAddress": address}
    place = "compute-1" if call.region == "us-east-1" else f"{call.region}.compute"
    name = f"ec2-{address.replace('.', '-')}.{place}.{call.dns_suffix}"
    return {"PublicIpAddress": address, "PublicDnsName": name}


_CARD = ("Description", "Groups", "Ipv6Addresses", "MacAddress", "NetworkInterfaceId", "OwnerId", "PrivateDnsName",
         "PrivateIpAddress", "SourceDestCheck", "Status", "SubnetId", "VpcId", "InterfaceType",
         "PrivateIpAddresses")  # fmt: skip


def _card(interface: Record) -> dict[str, Any]:
    """Return how an instance shows an interface."""
    view = interface["view"]
    card = {name: view[name] for name in _CARD}
    attachment = view.get("Attachment", {})
    card["Attachment"] = {key: value for key, value in attachment.items() if not key.startswith("Instance")}
    if "Association" in view:
        card["Association"] = {key: view["Association"][key] for key in ("PublicIp", "IpOwnerId")}
    return card


def describe(call: Call) -> dict[str, Any]:
    page, more = described(call, INSTANCE, "InstanceIds", "Filters", shown)
    reservations: dict[str, dict[str, Any]] = {}
    for record, view in page:
        ident = record["reservation"]
        empty = {"ReservationId": ident, "OwnerId": record["account"], "Groups": [], "Instances": []}
        reservations.setdefault(ident, empty)["Instances"].append(view)
    return {"Reservations": list(reservations.values()), **({"NextToken": more} if more else {})}


def describe_status(call: Call) -> dict[str, Any]:
    refuse_pages_of_ids(call, "InstanceIds")
    if "InstanceIds" in call.params:
        records = [find(call, INSTANCE, ident) for ident in dict.fromkeys(call.params["InstanceIds"])]
    else:
        records = [record for record in call.all("instance") if call.sees(record)]
    rows = [(record, _status(record["view"])) for record in records]
    if not call.params.get("IncludeAllInstances"):
        rows = [row for row in rows if row[1]["InstanceState"]["Name"] == "running"]
    page, more = paged_rows(call, matching(call, rows, STATUS_FILTERS))
    return {"InstanceStatuses": [view for _, view in page], **({"NextToken": more} if more else {})}


def _status(view: dict[str, Any]) -> dict[str, Any]:
    status = "ok" if view["State"]["Name"] == "running" else "not-applicable"
    return {
        "InstanceId": view["InstanceId"], "InstanceState": view["State"], "SystemStatus": {"Status": status},
        "InstanceStatus": {"Status": status}, "AvailabilityZone": view["Placement"]["AvailabilityZone"],
        "AvailabilityZoneId": view["Placement"]["AvailabilityZoneId"],
    }  # fmt: skip


def terminate(call: Call) -> dict[str, Any]:
    records = [find(call, INSTANCE, ident) for ident in dict.fromkeys(call.params["InstanceIds"])]
    for record in records:
        if record["protected"]:
            text = f"The instance '{record['id']}' may not be terminated. Modify its 'disableApiTermination' instance"
            raise Refused("OperationNotPermitted", f"{text} attribute and try again.")
    return {"TerminatingInstances": [_end(call, record) for record in records]}


def _end(call: Call, instance: Record) -> dict[str, Any]:
    before = instance["view"]["State"]
    if before["Name"] not in {"shutting-down", "terminated"}:
        delays = call.settings.delays
        when = call.takes(delays.terminate_instance)
        reason = {
            "Code": "Client.UserInitiatedShutdown",
            "Message": "Client.UserInitiatedShutdown: User initiated shutdown",
        }
        _shut_down(call.world, instance, when, when + delays.instance_listed, reason)
    return {"InstanceId": instance["id"], "CurrentState": instance["view"]["State"], "PreviousState": before}


def _shut_down(world: World, instance: Record, ended: float, forgotten: float, reason: dict[str, str]) -> None:
    world.redirect(instance, State=state("shutting-down"), StateReason=reason)
    world.schedule(ended, instance, {"State": state("terminated")}, "release-instance")
    world.schedule(forgotten, instance, None)


def release(world: World, instance: Record, now: float) -> None:
    """Timer effect: interfaces and volumes go with a terminated instance, or are detached from it."""
    scope = scope_of(instance["account"], instance["region"])
    cards, disks = world.table(scope, "network-interface"), world.table(scope, "volume")
    for ident in [ident for ident in instance["interfaces"] if ident in cards]:
        attachment = cards[ident]["view"].pop("Attachment", {})
        if attachment.get("DeleteOnTermination"):
            interfaces.remove(world, cards[ident], now)
        else:
            cards[ident]["view"]["Status"] = "available"
    for ident in [ident for ident in instance["volumes"] if ident in disks]:
        attachment = disks[ident]["view"]["Attachments"][0]
        disks[ident]["view"].update(Attachments=[], State="available")
        if attachment["DeleteOnTermination"]:
            world.remove(disks[ident], now)
    for name in ("PrivateIpAddress", "SubnetId", "VpcId", "Ipv6Address"):
        instance["view"].pop(name, None)
    spot.close_request(world, instance, now)
    instance["view"].update(SecurityGroups=[], PrivateDnsName="", PublicDnsName="")


def interrupt(world: World, instance: Record, now: float, settings: Settings) -> None:
    """Let AWS take a spot instance back, as it does without a call of anybody."""
    if "SpotInstanceRequestId" not in instance["view"]:
        raise ValueError(f"{instance['id']} is no spot instance")
    ending = now + settings.delays.terminate_instance
    _shut_down(world, instance, ending, ending + settings.delays.instance_listed, spot.INTERRUPTED)


def stop(call: Call) -> dict[str, Any]:
    for ident in call.params["InstanceIds"]:
        spot.refuse_stop(find(call, INSTANCE, ident))
    return {"StoppingInstances": _change(call, "running", "stopping", "stopped", call.settings.delays.stop_instance)}


def give_up_public(world: World, instance: Record, now: float) -> None:
    """Timer effect: an instance that has stopped loses its public address, unless that is an elastic one."""
    for card in _own_cards(world, instance):
        if card["view"].get("Association", {}).get("IpOwnerId") == "amazon":
            del card["view"]["Association"]


def _own_cards(world: World, instance: Record) -> list[Record]:
    table = world.table(scope_of(instance["account"], instance["region"]), "network-interface")
    return [table[ident] for ident in instance["interfaces"] if ident in table]


def start(call: Call) -> dict[str, Any]:
    """Start instances. One that had a public address gets another one."""
    records = [find(call, INSTANCE, ident) for ident in dict.fromkeys(call.params["InstanceIds"])]
    stopped = [record for record in records if record["view"]["State"]["Name"] == "stopped"]
    for record in stopped:
        view = record["view"]
        capacity.check_capacity(call, TYPES[view["InstanceType"]], view["Placement"]["AvailabilityZone"], spot=False)
    changed = _change(call, "stopped", "pending", "running", call.settings.delays.start_instance)
    for record in stopped:
        for card in _own_cards(call.world, record)[:1]:
            if record.get("public") and "Association" not in card["view"]:
                interfaces.give_public_address(call.world, card)
    return {"StartingInstances": changed}


def _change(call: Call, wanted: str, through: str, final: str, seconds: float) -> list[dict[str, Any]]:
    records = [find(call, INSTANCE, ident) for ident in dict.fromkeys(call.params["InstanceIds"])]
    for record in records:
        if record["view"]["State"]["Name"] not in {wanted, through, final}:
            text = f"The instance '{record['id']}' is not in a state from which it can be brought to {final}."
            raise Refused("IncorrectInstanceState", text)
    changed = []
    for record in records:
        before = record["view"]["State"]
        if before["Name"] == wanted:
            call.world.redirect(record, State=state(through))
            answer(record, call.now if final == "stopped" else call.takes(seconds), answers=final == "running")
            effect = "stop-instance" if final == "stopped" else ""
            call.world.schedule(call.takes(seconds), record, {"State": state(final)}, effect)
        changed.append({"InstanceId": record["id"], "CurrentState": record["view"]["State"], "PreviousState": before})
    return changed


def describe_attribute(call: Call) -> dict[str, Any]:
    instance, name = find(call, INSTANCE, call.params["InstanceId"]), call.params["Attribute"]
    view = instance["view"]
    values: dict[str, tuple[str, Any]] = {
        "disableApiTermination": ("DisableApiTermination", {"Value": instance["protected"]}),
        "instanceInitiatedShutdownBehavior": ("InstanceInitiatedShutdownBehavior", {"Value": instance["on_shutdown"]}),
        "instanceType": ("InstanceType", {"Value": view["InstanceType"]}),
        "userData": ("UserData", {"Value": instance["user_data"]} if instance["user_data"] else {}),
        "sourceDestCheck": ("SourceDestCheck", {"Value": view["SourceDestCheck"]}),
        "groupSet": ("Groups", view["SecurityGroups"]),
        "rootDeviceName": ("RootDeviceName", {"Value": view["RootDeviceName"]}),
        "ebsOptimized": ("EbsOptimized", {"Value": view["EbsOptimized"]}),
    }
    if name not in values:
        raise not_served(f"the attribute {name} of instances")
    return {"InstanceId": instance["id"], values[name][0]: values[name][1]}


_CHANGED = ("DisableApiTermination", "SourceDestCheck", "InstanceInitiatedShutdownBehavior", "Groups", "InstanceType",
            "UserData")  # fmt: skip


def modify_attribute(call: Call) -> dict[str, Any]:
    instance, params = find(call, INSTANCE, call.params["InstanceId"]), call.params
    view, name = instance["view"], one_of(call, _CHANGED)
    if name in {"InstanceType", "UserData"} and view["State"]["Name"] != "stopped":
        text = f"The instance '{instance['id']}' is not in the 'stopped' state."
        raise Refused("IncorrectInstanceState", text)
    if name in {"SourceDestCheck", "Groups"} and len(instance["interfaces"]) > 1:
        text = f"There are multiple interfaces attached to instance '{instance['id']}'. Please specify an interface ID"
        raise Refused("InvalidInstanceID", f"{text} for the operation instead.")
    match name:
        case "DisableApiTermination":
            if "SpotInstanceRequestId" in view:
                text = "Modifying 'disableApiTermination' is not supported for spot instances."
                raise Refused("UnsupportedOperation", text)
            instance["protected"] = params[name].get("Value", False)
        case "InstanceInitiatedShutdownBehavior":
            instance["on_shutdown"] = params[name].get("Value", "stop")
        case "InstanceType":
            if params[name].get("Value") not in TYPES:
                raise Refused("InvalidParameterValue", f"Invalid value '{params[name].get('Value')}' for InstanceType.")
            view[name] = params[name]["Value"]
        case "UserData":
            instance["user_data"] = b64encode(params[name].get("Value", b"")).decode()
        case "Groups":
            view["SecurityGroups"] = interfaces.groups_of(call, view["VpcId"], params["Groups"])
            find(call, INTERFACE, instance["interfaces"][0])["view"]["Groups"] = view["SecurityGroups"]
        case "SourceDestCheck":
            view[name] = params[name].get("Value")
            find(call, INTERFACE, instance["interfaces"][0])["view"][name] = view[name]
    return {}


_STATUS_TAKES = "InstanceIds Filters MaxResults NextToken IncludeAllInstances"
OPERATIONS: tuple[Operation, ...] = (
    reads("DescribeInstances", describe, "InstanceIds Filters MaxResults NextToken"),
    reads("DescribeInstanceStatus", describe_status, _STATUS_TAKES),
    writes("TerminateInstances", terminate, "InstanceIds"),
    writes("StopInstances", stop, "InstanceIds"),
    writes("StartInstances", start, "InstanceIds"),
    reads("DescribeInstanceAttribute", describe_attribute, "InstanceId Attribute"),
    writes("ModifyInstanceAttribute", modify_attribute, f"InstanceId {' '.join(_CHANGED)}"),
)
