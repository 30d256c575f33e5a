"""Volumes of the EBS CSI driver. They block nothing and hold data, so they are deleted only if a user asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from freehold.collection.found import Step, Thing
from freehold.collection.policy import Volumes
from freehold.collection.rules import OWNED, CollectionRule, require_state, require_tag
from freehold.collection.things import CollectionTask
from freehold.engine.errors import Invalid, NotReady
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.collectors.collector import MADE_BY, Scene
from freehold.providers.aws.tags.native_tags import tag_list, tag_map

DRIVER, VOLUME_NAME = "ebs.csi.aws.com/cluster", "CSIVolumeName"
"""The tags that the driver puts on each volume
(https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/tagging.md)."""
TAKEN = "freehold.dev/snapshot-of"
"""The tag of a snapshot that was taken before its volume is deleted."""


class EbsVolumes:
    """Volumes. They are in no network, so only their name tells which cluster they belong to (rules.verdicts)."""

    task = CollectionTask.VOLUME
    rule = CollectionRule(
        ((OWNED, require_tag(DRIVER, value="true"), require_tag(VOLUME_NAME), require_state("available")),), MADE_BY
    )

    def __init__(self, client: AwsClient) -> None:
        self._client = client

    async def find(self, scene: Scene) -> Sequence[Thing]:
        filters = [{"Name": "tag-key", "Values": [f"kubernetes.io/cluster/{scene.workloads.name}"]}]
        rows = await self._client.read_list(
            "ec2", "describe_volumes", "Volumes", f"those of {scene.workloads.name}", Filters=filters, MaxResults=500
        )
        return [
            Thing(
                self.task, "volume", row["VolumeId"], row["VolumeId"], tag_map(row.get("Tags", ())), state=row["State"]
            )
            for row in rows
            if row["State"] not in ("deleting", "deleted")
        ]  # fmt: skip

    async def find_remaining(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return an empty list: the next look shows whether a volume still exists."""
        return ()

    def plan_steps(self, things: Sequence[Thing], volumes: Volumes) -> Sequence[Sequence[Step]]:
        deletes = [Step(thing, "delete", partial(self._delete, thing.id)) for thing in things]
        if volumes is not Volumes.SNAPSHOT:
            return [deletes]
        return [
            [Step(thing, "take a snapshot of", partial(self._keep_data, thing)) for thing in things],
            deletes,
        ]

    async def _keep_data(self, volume: Thing) -> None:
        """Take a snapshot, once. Raises NotReady until it is complete: the volume stays as long.

        A failed snapshot is not taken again without a person: with a key that may not be used, it fails for ever
        (https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html).
        """
        found = await self._snapshots(volume.id)
        if found and all(row.get("State") == "error" for row in found):
            names, why = (
                ", ".join(row["SnapshotId"] for row in found),
                found[0].get("StateMessage") or "EBS does not say why",
            )
            raise Invalid(f"snapshot {names} of {volume.id} has failed: {why}. Delete it, and another one is taken")
        if not found:
            tags = {
                **{key: value for key, value in volume.tags.items() if not key.startswith("aws:")},
                TAKEN: volume.id,
            }
            await self._client.write(
                "ec2", "create_snapshot", volume.id, VolumeId=volume.id,
                TagSpecifications=[{"ResourceType": "snapshot", "Tags": tag_list(tags)}],
            )  # fmt: skip
        if not any(row.get("State") == "completed" for row in found):
            raise NotReady(f"the snapshot of {volume.id} is not complete yet")

    async def _snapshots(self, volume: str) -> list[Json]:
        filters = [{"Name": f"tag:{TAKEN}", "Values": [volume]}, {"Name": "volume-id", "Values": [volume]}]
        return await self._client.read_list("ec2", "describe_snapshots", "Snapshots", f"of {volume}", Filters=filters)

    async def _delete(self, ident: str) -> None:
        await self._client.write("ec2", "delete_volume", ident, VolumeId=ident)
