"""Snapshots of volumes. They outlive their volume; a create has neither a client token nor a natural key.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSnapshot.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.ec2.describing import described
from freehold_sim.aws.ec2.kinds import create, find, show, tags_for
from freehold_sim.aws.ec2.resources import SNAPSHOT, VOLUME
from freehold_sim.aws.world import Record

_BETWEEN = 15.0
"""Seconds between two snapshots of a volume
(https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html)."""


def create_snapshot(call: Call) -> dict[str, Any]:
    """Take a snapshot of a volume, attached or not; it is complete later."""
    tags, volume = tags_for(call, "snapshot")["snapshot"], find(call, VOLUME, call.params["VolumeId"])
    if volume["view"]["State"] not in {"available", "in-use"}:
        raise Refused("IncorrectState", f"The volume '{volume['id']}' is '{volume['view']['State']}'")
    if any(row["created_at"] > call.now - _BETWEEN for row in call.where("snapshot", VolumeId=volume["id"])):
        text = "The maximum per volume CreateSnapshot request rate has been exceeded."
        raise Refused("SnapshotCreationPerVolumeRateExceeded", text)
    view = {
        "VolumeId": volume["id"], "VolumeSize": volume["view"]["Size"], "State": "pending", "StartTime": call.now,
        "Progress": "", "OwnerId": call.account, "Description": call.params.get("Description", ""),
        "Encrypted": volume["view"]["Encrypted"], "StorageTier": "standard",
        **{name: volume["view"][name] for name in ("KmsKeyId",) if name in volume["view"]},
    }  # fmt: skip
    made = create(call, SNAPSHOT, view, tags)
    end = {"State": "error"} if call.fails else {"State": "completed", "Progress": "100%"}
    call.world.schedule(call.takes(call.settings.delays.create_snapshot), made, end)
    return show(made, SNAPSHOT)


def describe(call: Call) -> dict[str, Any]:
    """List the account's own snapshots; there are no public ones here."""
    owners = set(call.params.get("OwnerIds", ["self"]))
    if not owners & {"self", call.account}:
        return {"Snapshots": []}
    found, more = described(call, SNAPSHOT, "SnapshotIds", "Filters", _shown)
    return {"Snapshots": [view for _, view in found], **({"NextToken": more} if more else {})}


def _shown(_: Call, record: Record) -> dict[str, Any]:
    return show(record, SNAPSHOT)


def delete_snapshot(call: Call) -> dict[str, Any]:
    call.world.remove(find(call, SNAPSHOT, call.params["SnapshotId"]), call.now)
    return {}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateSnapshot", create_snapshot, "VolumeId Description TagSpecifications"),
    reads("DescribeSnapshots", describe, "SnapshotIds OwnerIds Filters MaxResults NextToken"),
    writes("DeleteSnapshot", delete_snapshot, "SnapshotId"),
)
