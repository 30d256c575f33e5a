"""Classic load balancers. A name stands for one of them in a region.

https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_CreateLoadBalancer.html
"""

import re
from typing import Any

from freehold_sim.aws import balancing
from freehold_sim.aws.call import Call, Operation, Refused, not_served, reads, writes
from freehold_sim.aws.ec2.kinds import full
from freehold_sim.aws.paging import BadToken, page
from freehold_sim.aws.world import Record

KIND = "classic-balancer"
_NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?")
_PROTOCOLS = ("TCP", "HTTP", "SSL", "HTTPS")


def find(call: Call, name: str) -> Record:
    record = call.get(KIND, name)
    if record is None:
        raise Refused("LoadBalancerNotFound", f"There is no ACTIVE Load Balancer named '{name}'")
    return record


def listener(given: dict[str, Any]) -> dict[str, Any]:
    """Return a listener as it is shown; refuses protocols and ports that there are not."""
    protocol = given["Protocol"].upper()
    inner = given.get("InstanceProtocol", protocol).upper()
    if protocol not in _PROTOCOLS or inner not in _PROTOCOLS:
        raise Refused("UnsupportedProtocol", f"The protocol {protocol} to {inner} is not supported")
    if protocol in {"SSL", "HTTPS"}:
        raise not_served(f"classic listeners of protocol {protocol}")
    for port in (given["LoadBalancerPort"], given["InstancePort"]):
        if not 1 <= port <= 65535:
            raise Refused("ValidationError", f"The port {port} is not between 1 and 65535")
    return {
        "Protocol": protocol, "LoadBalancerPort": given["LoadBalancerPort"], "InstanceProtocol": inner,
        "InstancePort": given["InstancePort"],
    }  # fmt: skip


def create_balancer(call: Call) -> dict[str, Any]:
    params, name = call.params, call.params["LoadBalancerName"]
    if not _NAME.fullmatch(name):
        text = "LoadBalancer name must have at most 32 characters: letters, digits and hyphens, not at its ends"
        raise Refused("ValidationError", text)
    if call.get(KIND, name) is not None:
        text = f"Load Balancer with the name '{name}' already exists"
        raise Refused("DuplicateLoadBalancerName", text)
    tags = balancing.tags_of(call, params.get("Tags", []))
    scheme = params.get("Scheme", "internet-facing")
    if scheme not in {"internet-facing", "internal"}:
        raise Refused("InvalidScheme", f"Invalid scheme: {scheme}")
    if not params.get("Subnets"):
        raise Refused("ValidationError", "Either AvailabilityZones or SubnetIds must be specified")
    full(call, len(call.all(KIND)), call.settings.quotas.classic_balancers, "classic load balancers")
    listeners = [{"Listener": listener(given), "PolicyNames": []} for given in params["Listeners"]]
    if not listeners:
        raise Refused("ValidationError", "Listeners cannot be empty")
    subnets = balancing.subnets_of(call, params["Subnets"])
    vpc = subnets[0]["view"]["VpcId"]
    if scheme == "internet-facing":
        balancing.check_reachable(call, vpc)
    default = [row["id"] for row in call.where("security-group", VpcId=vpc) if row["view"]["GroupName"] == "default"]
    groups = balancing.groups_of(call, vpc, params.get("SecurityGroups") or default)
    balancer = _add(call, name, vpc, scheme, listeners, groups, tags)
    for subnet in subnets:
        join(call, balancer, subnet, groups)
    return {"DNSName": balancer["view"]["DNSName"]}


def _add(
    call: Call, name: str, vpc: str, scheme: str, listeners: list[dict[str, Any]], groups: list[dict[str, str]],
    tags: dict[str, str],
) -> Record:  # fmt: skip
    number = 100_000_000 + call.world.serial()
    dns = f"{'internal-' if scheme == 'internal' else ''}{name}-{number}.{call.region}.elb.{call.dns_suffix}"
    owner = {"OwnerAlias": call.account, "GroupName": groups[0]["GroupName"]}
    first = listeners[0]["Listener"]
    check = {"Target": f"TCP:{first['InstancePort']}", "Interval": 30, "Timeout": 5, "UnhealthyThreshold": 2,
             "HealthyThreshold": 10}  # fmt: skip
    view = {
        "LoadBalancerName": name, "DNSName": dns, "CanonicalHostedZoneNameID": "Z35SXDOTRQ7X7K", "VPCId": vpc,
        "CanonicalHostedZoneName": dns, "ListenerDescriptions": listeners, "AvailabilityZones": [], "Subnets": [],
        "Policies": {"AppCookieStickinessPolicies": [], "LBCookieStickinessPolicies": [], "OtherPolicies": []},
        "BackendServerDescriptions": [], "Instances": [], "HealthCheck": check, "SourceSecurityGroup": owner,
        "SecurityGroups": [group["GroupId"] for group in groups], "CreatedTime": call.now, "Scheme": scheme,
    }  # fmt: skip
    arn = f"arn:{call.partition}:elasticloadbalancing:{call.region}:{call.account}:loadbalancer/{name}"
    attributes = {
        "CrossZoneLoadBalancing": {"Enabled": False}, "AccessLog": {"Enabled": False},
        "ConnectionDraining": {"Enabled": False, "Timeout": 300}, "ConnectionSettings": {"IdleTimeout": 60},
    }  # fmt: skip
    return call.add(KIND, name, view, arn, tags=tags, attributes=attributes, interfaces={}, registered={})


def join(call: Call, balancer: Record, subnet: Record, groups: list[dict[str, str]]) -> None:
    """Put a load balancer into a subnet."""
    view = balancer["view"]
    public = view["Scheme"] == "internet-facing"
    balancing.place(call, balancer, subnet, groups, f"ELB {view['LoadBalancerName']}", public)
    view["Subnets"].append(subnet["id"])
    view["AvailabilityZones"].append(subnet["view"]["AvailabilityZone"])


def describe_balancers(call: Call) -> dict[str, Any]:
    if "LoadBalancerNames" in call.params:
        records = [find(call, name) for name in call.params["LoadBalancerNames"]]
    else:
        records = [record for record in call.all(KIND) if call.sees(record)]
    rows = sorted(((int(record["serial"]), record["view"]) for record in records), key=lambda row: row[0])
    try:
        found, more = page(call, rows, call.params.get("Marker"), call.params.get("PageSize"))
    except BadToken:
        raise Refused("ValidationError", "Invalid marker") from None
    return {"LoadBalancerDescriptions": found, **({"NextMarker": more} if more else {})}


def delete_balancer(call: Call) -> dict[str, Any]:
    """Delete a load balancer; one that does not exist counts as deleted."""
    balancer = call.get(KIND, call.params["LoadBalancerName"])
    if balancer is not None:
        balancing.withdraw(call, balancer, list(balancer["interfaces"]))
        call.world.remove(balancer, call.now)
    return {}


LISTENERS = "Listeners.Protocol Listeners.LoadBalancerPort Listeners.InstanceProtocol Listeners.InstancePort"
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateLoadBalancer", create_balancer, f"LoadBalancerName {LISTENERS} Subnets SecurityGroups Scheme Tags"),
    reads("DescribeLoadBalancers", describe_balancers, "LoadBalancerNames Marker PageSize"),
    writes("DeleteLoadBalancer", delete_balancer, "LoadBalancerName"),
)
