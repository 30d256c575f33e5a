"""Network and application load balancers.

https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html
"""

from typing import Any

from freehold_sim.aws import balancing
from freehold_sim.aws.call import Call, Operation, Refused, not_served, reads, writes
from freehold_sim.aws.ec2 import addresses
from freehold_sim.aws.ec2.kinds import full
from freehold_sim.aws.elbv2.attributes import balancer_defaults
from freehold_sim.aws.elbv2.common import BALANCER, LISTENER, TARGET_GROUP, arn, check_name, find, paged, selected
from freehold_sim.aws.world import Record

_SHORT = {"network": "net", "application": "app"}


def create_balancer(call: Call) -> dict[str, Any]:
    """Create a load balancer, or return the one that has the same name and settings."""
    params, name = call.params, call.params["Name"]
    check_name(name, "Load balancer")
    tags = balancing.tags_of(call, params.get("Tags", []))
    kind = params.get("Type", "application")
    if kind not in _SHORT:
        raise not_served(f"load balancers of type {kind}")
    _check_served(params.get("IpAddressType", "ipv4"))
    if (held := _held(call, name, kind, tags)) is not None:
        return {"LoadBalancers": [held["view"]]}
    full(call, len(call.all(BALANCER)), call.settings.quotas.balancers, "load balancers")
    wanted = _mappings(call)
    subnets = balancing.subnets_of(call, list(wanted))
    if len(subnets) < (2 if kind == "application" else 1):
        text = "At least two subnets in two different Availability Zones must be specified"
        raise Refused("ValidationError" if not subnets else "InvalidConfigurationRequest", text)
    _check_address_type(params.get("IpAddressType", "ipv4"), subnets)
    vpc = subnets[0]["view"]["VpcId"]
    public = params.get("Scheme", "internet-facing") == "internet-facing"
    if public:
        balancing.check_reachable(call, vpc)
    groups = balancing.groups_of(call, vpc, _groups(call, vpc, kind))
    held_addresses = _addresses(call, wanted, kind, public)
    balancer = _add(call, kind, vpc, public, [group["GroupId"] for group in groups], tags)
    for subnet in subnets:
        _place(call, balancer, subnet, groups, held_addresses.get(subnet["id"]))
    state = {"State.Code": "failed"} if call.fails else {"State.Code": "active"}
    call.world.schedule(call.takes(call.settings.delays.create_balancer), balancer, state)
    return {"LoadBalancers": [balancer["view"]]}


def _check_served(address_type: str) -> None:
    if address_type not in {"ipv4", "dualstack"}:
        raise not_served(f"load balancers of address type {address_type}")


def _check_address_type(wanted: str, subnets: list[Record]) -> None:
    """Refuse a dual-stack load balancer in a subnet without an IPv6 range."""
    if wanted == "dualstack" and not all(subnet["view"]["Ipv6CidrBlockAssociationSet"] for subnet in subnets):
        raise Refused("InvalidSubnet", "You must specify subnets with an associated IPv6 CIDR block.")


def _held(call: Call, name: str, kind: str, tags: dict[str, str]) -> Record | None:
    """Return the load balancer of this name if it has the same settings now; refuse if it has others."""
    found = call.where(BALANCER, LoadBalancerName=name)
    if not found:
        return None
    view, wanted = found[0]["view"], _mappings(call)
    subnets = {zone["SubnetId"] for zone in view["AvailabilityZones"]}
    held = {row["AllocationId"] for zone in view["AvailabilityZones"] for row in zone["LoadBalancerAddresses"]}
    groups = set(view.get("SecurityGroups", []))
    same = (
        view["Type"] == kind
        and view["Scheme"] == call.params.get("Scheme", "internet-facing")
        and subnets == set(wanted)
        and held == {ident for ident in wanted.values() if ident}
        and groups == set(call.params.get("SecurityGroups", groups))
    )
    if call.settings.assumptions.balancer_tags_are_settings:
        same = same and found[0]["tags"] == tags
    if not same:
        text = f"A load balancer with the same name '{name}' exists, but with different settings"
        raise Refused("DuplicateLoadBalancerName", text)
    return found[0]


def _mappings(call: Call) -> dict[str, str | None]:
    """Return the subnets that are asked for, each with the elastic address that is to serve it."""
    if ("Subnets" in call.params) == ("SubnetMappings" in call.params):
        raise Refused("ValidationError", "You must specify either subnets or subnet mappings")
    if "Subnets" in call.params:
        return dict.fromkeys(call.params["Subnets"])
    return {row.get("SubnetId", ""): row.get("AllocationId") for row in call.params["SubnetMappings"]}


def _groups(call: Call, vpc: str, kind: str) -> list[str]:
    """Return the groups that are asked for; an application load balancer gets the default one if none is."""
    if "SecurityGroups" in call.params or kind != "application":
        return list(call.params.get("SecurityGroups", []))
    return [row["id"] for row in call.where("security-group", VpcId=vpc) if row["view"]["GroupName"] == "default"]


def _addresses(call: Call, wanted: dict[str, str | None], kind: str, public: bool) -> dict[str, Record]:
    found = {}
    for subnet, ident in wanted.items():
        if ident is None:
            continue
        if kind != "network" or not public:
            text = "Elastic IP addresses are for internet-facing network load balancers"
            raise Refused("InvalidConfigurationRequest", text)
        address = call.get("elastic-ip", ident)
        if address is None:
            raise Refused("AllocationIdNotFound", f"The allocation IDs '{ident}' do not exist")
        if "AssociationId" in address["view"]:
            raise Refused("ResourceInUse", f"The allocation IDs '{ident}' are not available for use")
        found[subnet] = address
    return found


def _add(call: Call, kind: str, vpc: str, public: bool, groups: list[str], tags: dict[str, str]) -> Record:
    name, number = call.params["Name"], call.world.new_hex(16)
    ident = arn(call, f"loadbalancer/{_SHORT[kind]}/{name}/{number}")
    label = f"{name}-{number}" if public else f"internal-{name}-{number}"
    view: dict[str, Any] = {
        "LoadBalancerArn": ident, "DNSName": f"{label}.elb.{call.region}.{call.dns_suffix}", "Type": kind, "VpcId": vpc,
        "CanonicalHostedZoneId": "Z26RNL4JYFTOTI", "CreatedTime": call.now, "LoadBalancerName": name,
        "Scheme": "internet-facing" if public else "internal", "State": {"Code": "provisioning"},
        "AvailabilityZones": [], "IpAddressType": call.params.get("IpAddressType", "ipv4"),
    }  # fmt: skip
    if groups or kind == "application":
        view["SecurityGroups"] = groups
    return call.add(
        BALANCER, ident, view, ident, tags=tags, attributes=balancer_defaults(kind, public=public), interfaces={}
    )


def _place(call: Call, balancer: Record, subnet: Record, groups: list[dict[str, str]], address: Record | None) -> None:
    view = balancer["view"]
    text = f"ELB {view['LoadBalancerArn'].partition('loadbalancer/')[2]}"
    public = view["Scheme"] == "internet-facing"
    interface = balancing.place(call, balancer, subnet, groups, text, public and address is None)
    shown: list[dict[str, str]] = []
    if address is not None:
        addresses.bind(call, address, interface)
        shown = [{"IpAddress": address["view"]["PublicIp"], "AllocationId": address["id"]}]
    zone = {
        "ZoneName": subnet["view"]["AvailabilityZone"], "SubnetId": subnet["id"], "LoadBalancerAddresses": shown,
    }  # fmt: skip
    view["AvailabilityZones"].append(zone)


def describe_balancers(call: Call) -> dict[str, Any]:
    most = balancing.ARNS_PER_DESCRIPTION
    if len(call.params.get("LoadBalancerArns", [])) > most:
        raise Refused("ValidationError", f"Up to {most} load balancers can be specified in a single call")
    rows = selected(call, BALANCER, "LoadBalancerArns", "Names", "LoadBalancerName", "LoadBalancerNotFound")
    return paged(call, "LoadBalancers", rows, [record["view"] for record in rows])


def delete_balancer(call: Call) -> dict[str, Any]:
    """Delete a load balancer; one that does not exist counts as deleted."""
    ident = call.params["LoadBalancerArn"]
    if not ident.startswith("arn:"):
        raise Refused("ValidationError", f"'{ident}' is not a valid load balancer ARN")
    balancer = call.get(BALANCER, ident)
    if balancer is None:
        return {}
    if balancer["attributes"]["deletion_protection.enabled"] == "true":
        text = f"Load balancer '{ident}' cannot be deleted because deletion protection is enabled"
        raise Refused("OperationNotPermitted", text)
    for listener in call.where(LISTENER, LoadBalancerArn=ident):
        _hold_groups(call, listener)
        call.world.remove(listener, call.now)
    balancing.withdraw(call, balancer, list(balancer["interfaces"]))
    call.world.remove(balancer, call.now)
    return {}


def _hold_groups(call: Call, listener: Record) -> None:
    """Keep the target groups of a listener in use for a while (``delays.target_group_held``).

    The AWS Load Balancer Controller waits for it:
    https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/deploy/elbv2/target_group_manager.go
    """
    for action in listener["view"]["DefaultActions"]:
        group = call.get(TARGET_GROUP, action.get("TargetGroupArn"))
        if group is not None and call.settings.delays.target_group_held:
            group["held_until"] = call.takes(call.settings.delays.target_group_held)


def set_groups(call: Call) -> dict[str, Any]:
    balancer = find(call, BALANCER, call.params["LoadBalancerArn"])
    view, wanted = balancer["view"], call.params["SecurityGroups"]
    if view["Type"] == "network" and "SecurityGroups" not in view:
        text = "You cannot set security groups on a network load balancer that was created without any"
        raise Refused("InvalidConfigurationRequest", text)
    if not wanted:
        raise Refused("InvalidConfigurationRequest", "A load balancer keeps at least one security group")
    groups = balancing.groups_of(call, view["VpcId"], wanted)
    balancing.set_groups(call, balancer, groups)
    view["SecurityGroups"] = [group["GroupId"] for group in groups]
    return {"SecurityGroupIds": view["SecurityGroups"]}


def set_subnets(call: Call) -> dict[str, Any]:
    balancer = find(call, BALANCER, call.params["LoadBalancerArn"])
    view, wanted = balancer["view"], _mappings(call)
    subnets = balancing.subnets_of(call, list(wanted))
    if any(subnet["view"]["VpcId"] != view["VpcId"] for subnet in subnets):
        raise Refused("InvalidSubnet", f"The subnets must be in the VPC {view['VpcId']}")
    if len(subnets) < (2 if view["Type"] == "application" else 1):
        raise Refused("InvalidConfigurationRequest", "At least two subnets in two Availability Zones are needed")
    gone = [ident for ident in balancer["interfaces"] if ident not in wanted]
    balancing.withdraw(call, balancer, gone)
    view["AvailabilityZones"] = [zone for zone in view["AvailabilityZones"] if zone["SubnetId"] not in gone]
    groups = balancing.groups_of(call, view["VpcId"], view.get("SecurityGroups", []))
    for subnet in subnets:
        if subnet["id"] not in balancer["interfaces"]:
            _place(call, balancer, subnet, groups, None)
    return {"AvailabilityZones": view["AvailabilityZones"]}


def set_address_type(call: Call) -> dict[str, Any]:
    balancer, wanted = find(call, BALANCER, call.params["LoadBalancerArn"]), call.params["IpAddressType"]
    _check_served(wanted)
    _check_address_type(wanted, balancing.subnets_of(call, list(balancer["interfaces"])))
    balancer["view"]["IpAddressType"] = wanted
    return {"IpAddressType": wanted}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateLoadBalancer", create_balancer,
           "Name Subnets SubnetMappings.SubnetId SubnetMappings.AllocationId SecurityGroups Scheme Type "
           "IpAddressType Tags"),
    reads("DescribeLoadBalancers", describe_balancers, "LoadBalancerArns Names Marker PageSize"),
    writes("DeleteLoadBalancer", delete_balancer, "LoadBalancerArn"),
    writes("SetIpAddressType", set_address_type, "LoadBalancerArn IpAddressType"),
    writes("SetSecurityGroups", set_groups, "LoadBalancerArn SecurityGroups"),
    writes("SetSubnets", set_subnets, "LoadBalancerArn Subnets SubnetMappings.SubnetId"),
)  # fmt: skip
