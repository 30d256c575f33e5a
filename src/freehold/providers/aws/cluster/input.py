"""What is wrong with the spec of an AWSCluster: what, where, what to do.

A schema has refused most of it when the object was applied (``types/early.py``); this says the
same of objects that no such API server checked, and what no schema can know: ranges that overlap, zones and regions
that do not exist, limits in which our own tags count.
What upstream refuses: https://github.com/kubernetes-sigs/cluster-api-provider-aws/tree/main/webhooks
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address
from typing import Any

from freehold.api import patterns
from freehold.providers.aws.cluster import (
    balancer_input,
    family_input,
    given_input,
    group_input,
    network_input,
    rule_input,
    tag_input,
)
from freehold.providers.aws.cluster.facts import Facts
from freehold.providers.aws.cluster.names import NAME_LIMIT, DefaultNames
from freehold.providers.aws.cluster.normal_form import partition_of
from freehold.providers.aws.types.cluster import AWSClusterSpec
from freehold.providers.aws.types.served import AWS_CLUSTER
from freehold.providers.objects.cloud_answers import Answer, NoSuch
from freehold.providers.objects.served_fields import refused_fields
from freehold.providers.objects.spec_problems import Problem

Checks = Iterator[Problem]
_SSH_KEY = re.compile(r"[!-~]+([ -~]*[!-~]+)*")


def check(
    names: DefaultNames, raw: Mapping[str, Any], spec: AWSClusterSpec, facts: Facts, *, storage: bool = False
) -> tuple[Problem, ...]:
    """Everything that must be changed before anything is created, in the order of the docs.

    ``raw`` is the object that ``spec`` was parsed from. ``storage``: whether ``s3Bucket`` is acted on; it is not
    checked otherwise.
    """
    parts = (
        _name(names),
        refused_fields(AWS_CLUSTER.fields, raw),
        _place(spec, facts),
        tag_input.check(names, spec, facts),
        network_input.check(names, spec, facts),
        rule_input.check(spec),
        balancer_input.check(names, spec, facts),
        given_input.check(spec, facts),
        family_input.check(spec, facts),
        group_input.check(spec, facts),
        _bastion(spec, facts),
        _bucket(spec) if storage else (),
    )
    return tuple(problem for part in parts for problem in part)


def _name(names: DefaultNames) -> Checks:
    if len(names.cluster) > NAME_LIMIT:
        yield Problem(
            "metadata.name",
            f"{names.cluster!r} has {len(names.cluster)} characters; it is part of a tag's key, which leaves "
            f"{NAME_LIMIT}: choose a shorter name",
        )


def _place(spec: AWSClusterSpec, facts: Facts) -> Checks:
    if not spec.region:
        yield Problem("spec.region", "it is missing; give the AWS region, for example eu-central-1")
        return
    if isinstance(facts.zones, NoSuch):
        known = facts.zones.known
        choice = f"choose one of {', '.join(known)}" if known else "correct it"
        yield Problem("spec.region", f"there is no AWS region {spec.region!r}; {choice}")
    elif isinstance(facts.zones, Answer) and not facts.zones.value:
        yield Problem("spec.region", f"region {spec.region!r} has no availability zone for you; enable the region")
    right = partition_of(spec.region)
    if spec.partition and spec.partition != right:
        yield Problem("spec.partition", f"region {spec.region!r} is in partition {right!r}; write that, or remove it")


def _bastion(spec: AWSClusterSpec, facts: Facts) -> Checks:
    if isinstance(facts.image, NoSuch):
        yield Problem(
            "spec.bastion.ami", f"AWS offers no image by default in {spec.region}; give the id of one, like ami-…"
        )
    if spec.ssh_key_name and not _SSH_KEY.fullmatch(spec.ssh_key_name):
        yield Problem(
            "spec.sshKeyName",
            f"{spec.ssh_key_name!r} is not the name of an SSH key: ASCII, without spaces at its ends; correct it",
        )
    bastion = spec.bastion
    if bastion is None:
        return
    field = "spec.bastion.allowedCIDRBlocks"
    if bastion.disable_ingress_rules and bastion.allowed_cidr_blocks:
        yield Problem(field, "with disableIngressRules nobody may reach the bastion; remove one of the two")
    for index, text in enumerate(bastion.allowed_cidr_blocks):
        yield from rule_input.any_range(f"{field}[{index}]", text)


def _bucket(spec: AWSClusterSpec) -> Checks:
    bucket = spec.s3_bucket
    if bucket is None:
        return
    try:
        IPv4Address(bucket.name)
    except ValueError:
        pass
    else:
        yield Problem("spec.s3Bucket.name", f"{bucket.name!r} is an address, which AWS refuses; choose another name")
    if duration := bucket.presigned_url_duration:
        if duration != "0" and not re.fullmatch(patterns.DURATION, duration):
            yield Problem(
                "spec.s3Bucket.presignedURLDuration", f"{duration!r} is not a duration; write one like 30m or 24h0m0s"
            )
        return
    if not bucket.control_plane_iam_instance_profile:
        yield Problem(
            "spec.s3Bucket.controlPlaneIAMInstanceProfile",
            "it is missing; name the profile that may read, or set presignedURLDuration",
        )
    profiles = bucket.nodes_iam_instance_profiles
    if not profiles or "" in profiles:
        where = f"[{profiles.index('')}]" if "" in profiles else ""
        yield Problem(
            f"spec.s3Bucket.nodesIAMInstanceProfiles{where}",
            "it is missing; name the profiles that may read, or set presignedURLDuration",
        )
