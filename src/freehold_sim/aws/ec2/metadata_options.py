"""Options of the instance metadata service, at launch and afterwards.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyInstanceMetadataOptions.html,
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/work-with-tags-in-IMDS.html
"""

import re
from collections.abc import Iterable
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, writes
from freehold_sim.aws.ec2.kinds import find
from freehold_sim.aws.ec2.resources import INSTANCE
from freehold_sim.aws.world import Record

_DEFAULTS = {
    "HttpTokens": "optional", "HttpPutResponseHopLimit": 1, "HttpEndpoint": "enabled", "HttpProtocolIpv6": "disabled",
    "InstanceMetadataTags": "disabled",
}  # fmt: skip
_MOST_HOPS = 64
_KEY = re.compile(r"[0-9a-zA-Z\-_+=,.@:]{1,255}")
_RESERVED = (".", "..", "_index")


def of_launch(call: Call, tags: Iterable[str]) -> dict[str, Any]:
    """Return the options of a new instance with these tags."""
    return {**_changed(_DEFAULTS, call.params.get("MetadataOptions", {}), tags), "State": "applied"}


def _changed(held: dict[str, Any], given: dict[str, Any], tags: Iterable[str]) -> dict[str, Any]:
    found = {**held, **{name: given[name] for name in _DEFAULTS if name in given}}
    hops = found["HttpPutResponseHopLimit"]
    if not 1 <= hops <= _MOST_HOPS:
        text = f"Value ({hops}) for parameter httpPutResponseHopLimit is invalid. It is between 1 and {_MOST_HOPS}."
        raise Refused("InvalidParameterValue", text)
    if found["InstanceMetadataTags"] == "enabled":
        _check_keys(tags)
    return found


def _check_keys(keys: Iterable[str]) -> None:
    """Refuse keys that have no path in the metadata service: those of Kubernetes, for their `/` (aws-cli#8825)."""
    for key in keys:
        if not _KEY.fullmatch(key) or key in _RESERVED:
            text = (
                f"'{key}' is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z\\\\-_+=,.@:]{{1,255}}), and "
                "must not be a reserved name ('.', '..', '_index')"
            )
            raise Refused("InvalidParameterValue", text)


def check_tags(record: Record, tags: Iterable[str]) -> None:
    """Refuse new tags of an instance whose metadata service could not show them."""
    if record["kind"] == INSTANCE.name and record["view"]["MetadataOptions"].get("InstanceMetadataTags") == "enabled":
        _check_keys(tags)


def modify(call: Call) -> dict[str, Any]:
    """Change the options that are given; they are pending until the next change of time."""
    instance = find(call, INSTANCE, call.params["InstanceId"])
    view = instance["view"]
    if view["State"]["Name"] in {"shutting-down", "terminated"}:
        text = f"The instance '{instance['id']}' is not in a valid state for this operation."
        raise Refused("IncorrectInstanceState", text)
    view["MetadataOptions"] = {**_changed(view["MetadataOptions"], call.params, instance["tags"]), "State": "applied"}
    shown = {**view["MetadataOptions"], "State": "pending"}
    return {"InstanceId": instance["id"], "InstanceMetadataOptions": shown}


OPERATIONS: tuple[Operation, ...] = (
    writes("ModifyInstanceMetadataOptions", modify, f"InstanceId {' '.join(_DEFAULTS)}"),
)
