"""What machines of the cluster need: the bastion, and the bucket for bootstrap data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from freehold.engine.graph import Node, ReadyNodes
from freehold.engine.resources import Request
from freehold.providers.aws.cluster import keys
from freehold.providers.aws.cluster.cluster_plan import Bucket, ClusterPlan, PlannedBastion, Role
from freehold.providers.aws.cluster.nodes.tags import NodeTags
from freehold.providers.aws.kinds.s3_bucket import policy_part
from freehold.providers.aws.tags import capa_tags


def bastion_nodes(plan: ClusterPlan, image: str, tags: NodeTags) -> Iterator[Node]:
    """Yield the bastion. ``image`` is the newest one, empty where it was not asked for.

    A delete may not know in which subnet it was.
    """
    if plan.bastion and plan.bastion.subnet:
        subnet, group = keys.subnet(plan.bastion.subnet), keys.group(Role.BASTION.value)
        way = {keys.INTERNET_GATEWAY} if plan.created_vpc else set()
        capa = capa_tags.bastion(tags.cluster)
        request = partial(_bastion, capa.name, plan.bastion, image)
        needs = frozenset({subnet, group, *way})
        yield Node(keys.BASTION, capa.name, request, requires=needs, field="spec.bastion", tags=tags.own(capa))


def _bastion(name: str, bastion: PlannedBastion, newest: str, known: ReadyNodes) -> Request:
    """Make the bastion. It keeps its image when a newer one appears; an empty key means none, not the default."""
    there = known.get(keys.BASTION)
    image = bastion.ami or (there and there.attributes.get("image_id")) or newest
    return {
        "name": name,
        "image_id": image,
        "instance_type": bastion.instance_type,
        "subnet_id": known[keys.subnet(bastion.subnet)].id,
        "security_groups": [known[keys.group(Role.BASTION.value)].id],
        "associate_public_ip_address": True,
        "key_name": bastion.key_name,
    }


def bucket_nodes(plan: ClusterPlan, account: str, tags: NodeTags) -> Iterator[Node]:
    """Yield the bucket. ``account`` is the one that the instance profiles are in."""
    if plan.bucket:
        name, part = plan.bucket.name, policy_part(_policy(plan.bucket, plan.partition, account))
        own = tags.own(capa_tags.bucket())
        yield Node(
            keys.BUCKET,
            name,
            lambda known: {"name": name},
            parts=lambda known: frozenset({part}),
            field="spec.s3Bucket",
            part_field=lambda part: "spec.s3Bucket",
            tags=own,
            name_taken_advice="set spec.s3Bucket.name to another name; a bucket that is there is never used",
        )


def _policy(bucket: Bucket, partition: str, account: str) -> dict[str, Any]:
    """Spell upstream's policy: requests over TLS only, and each profile reads the data of its own sort of machine.

    https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/s3/s3.go
    """
    arn = f"arn:{partition}:s3:::{bucket.name}"
    tls_only = {
        "Sid": "ForceSSLOnlyAccess",
        "Effect": "Deny",
        "Principal": {"AWS": ["*"]},
        "Action": ["s3:*"],
        "Resource": [f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": False}},
    }
    readers = [("control-plane", bucket.control_plane_profile)] if bucket.control_plane_profile else []
    readers += [("node", profile) for profile in bucket.node_profiles]
    return {
        "Version": "2012-10-17",
        "Statement": [tls_only, *(_reads(arn, f"arn:{partition}:iam::{account}:role/", *each) for each in readers)],
    }


def _reads(bucket: str, roles: str, folder: str, profile: str) -> dict[str, Any]:
    return {
        "Sid": folder if folder == "control-plane" else profile,
        "Effect": "Allow",
        "Principal": {"AWS": [f"{roles}{profile}"]},
        "Action": ["s3:GetObject"],
        "Resource": [f"{bucket}/{folder}/*"],
    }
