"""Spot instances: a one-time request that a launch fulfils at once, and their interruption.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-requests.html, .../spot-interruptions.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, not_served
from freehold_sim.aws.ec2.describing import describes
from freehold_sim.aws.ec2.instance_types import InstanceType
from freehold_sim.aws.ec2.kinds import create
from freehold_sim.aws.ec2.resources import SPOT_REQUEST
from freehold_sim.aws.world import Record, World, scope_of

SERVED = "MarketType SpotOptions.MaxPrice SpotOptions.SpotInstanceType SpotOptions.InstanceInterruptionBehavior"
"""The members of InstanceMarketOptions that RunInstances takes."""
INTERRUPTED = {
    "Code": "Server.SpotInstanceTermination",
    "Message": "Server.SpotInstanceTermination: Spot instance termination",
}
"""The reason that an interrupted instance shows."""


def wanted(call: Call, kind: InstanceType, tags: dict[str, str]) -> bool:
    """Whether a launch is for spot instances; refuses what EC2 refuses of one."""
    market = call.params.get("InstanceMarketOptions", {})
    if market.get("MarketType", "on-demand") not in {"spot", "on-demand"}:
        raise not_served(f"the market type {market['MarketType']}")
    if market.get("MarketType") != "spot":
        if "SpotOptions" in market:
            raise Refused("InvalidParameterCombination", "SpotOptions need the market type spot")
        if tags:
            text = "'spot-instances-request' is not a valid taggable resource type for this operation."
            raise Refused("InvalidParameterValue", text)
        return False
    if call.params.get("DisableApiTermination"):
        raise Refused("InvalidParameterCombination", "Termination protection is not supported for Spot Instances")
    _check_options(market.get("SpotOptions", {}), kind)
    return True


def _check_options(options: dict[str, Any], kind: InstanceType) -> None:
    if options.get("SpotInstanceType", "one-time") != "one-time":
        raise not_served("persistent spot requests")
    if options.get("InstanceInterruptionBehavior", "terminate") != "terminate":
        raise not_served(f"the interruption behavior {options['InstanceInterruptionBehavior']}")
    if "MaxPrice" not in options:
        return
    try:
        price = float(options["MaxPrice"])
    except ValueError:
        text = f"Value ({options['MaxPrice']}) for parameter price is invalid. It is an invalid spot instance price"
        raise Refused("InvalidParameterValue", text) from None
    if price < kind.spot_price:  # aws-parallelcluster-node#415
        text = f"Your Spot request price of {options['MaxPrice']} is lower than the minimum required Spot request"
        raise Refused("SpotMaxPriceTooLow", f"{text} fulfillment price of {kind.spot_price}.")


def add_request(call: Call, instance: Record, tags: dict[str, str]) -> None:
    """Make the request that a spot instance fulfils."""
    view = instance["view"]
    options = call.params["InstanceMarketOptions"].get("SpotOptions", {})
    shown: dict[str, Any] = {
        "State": "active", "Type": "one-time", "InstanceId": instance["id"], "CreateTime": call.now,
        "Status": _status("fulfilled", call.now), "InstanceInterruptionBehavior": "terminate",
        "LaunchedAvailabilityZone": view["Placement"]["AvailabilityZone"], "ProductDescription": "Linux/UNIX",
    }  # fmt: skip
    if "MaxPrice" in options:
        shown["SpotPrice"] = options["MaxPrice"]
    request = create(call, SPOT_REQUEST, shown, tags)
    view.update(InstanceLifecycle="spot", SpotInstanceRequestId=request["id"])


def _status(code: str, now: float) -> dict[str, Any]:
    return {"Code": code, "UpdateTime": now, "Message": code.replace("-", " ")}


def close_request(world: World, instance: Record, now: float) -> None:
    """Close the request of an instance that has ended."""
    scope = scope_of(instance["account"], instance["region"])
    request = world.table(scope, SPOT_REQUEST.name).get(instance["view"].get("SpotInstanceRequestId", ""))
    if request is None:
        return
    interrupted = instance["view"].get("StateReason", {}).get("Code") == INTERRUPTED["Code"]
    code = "instance-terminated-no-capacity" if interrupted else "instance-terminated-by-user"
    request["view"].update(State="closed", Status=_status(code, now))


def refuse_stop(instance: Record) -> None:
    """Refuse to stop an instance of a one-time request."""
    if "SpotInstanceRequestId" in instance["view"]:
        text = f"You can't stop the Spot Instance '{instance['id']}' because it is associated with a one-time Spot"
        more = "You can only stop Spot Instances associated with persistent Spot Instance requests."
        raise Refused("UnsupportedOperation", f"{text} Instance request. {more}")


OPERATIONS: tuple[Operation, ...] = (
    describes("DescribeSpotInstanceRequests", SPOT_REQUEST, "SpotInstanceRequestIds", "SpotInstanceRequests"),
)
