"""AWS's API for each kind of resource: one table (docs/reference/aws.md#kinds).

Operations have the names of the API. The members for tags and client token are checked against botocore's service
models, and the page against this table. Permissions are named after the operations (docs/reference/aws.md#permissions).
"""

from __future__ import annotations

from collections.abc import Mapping

from freehold.providers.aws.kind_rows import balancing, ec2, eks, iam, storage
from freehold.providers.aws.kind_rows.row import NOT_SENT as NOT_SENT
from freehold.providers.aws.kind_rows.row import KindFacts as KindFacts
from freehold.providers.aws.kind_rows.row import PartFacts as PartFacts
from freehold.providers.aws.kind_rows.row import Workflow as Workflow

KINDS: tuple[KindFacts, ...] = (*ec2.KINDS, *balancing.KINDS, *storage.KINDS, *eks.KINDS, *iam.KINDS)
"""The kinds of AWSCluster, AWSMachine and AWSManagedControlPlane."""

SERVICES = frozenset(kind.service for kind in KINDS)
"""The services that have kinds."""

FACTS: Mapping[str, KindFacts] = {kind.name: kind for kind in KINDS}
"""The kinds by name."""

TAG_OPERATIONS: Mapping[str, frozenset[str]] = {
    "resourcegroupstaggingapi": frozenset({"GetResources", "TagResources", "UntagResources"}),
    "ec2": frozenset({"DescribeTags", "CreateTags", "DeleteTags"}),
    "elb": frozenset({"DescribeTags", "AddTags", "RemoveTags"}),
    "elbv2": frozenset({"DescribeTags", "AddTags", "RemoveTags"}),
    "s3": frozenset({"GetBucketTagging", "ListBuckets"}),
    "iam": frozenset(
        {
            "ListRoleTags",
            "TagRole",
            "UntagRole",
            "ListOpenIDConnectProviderTags",
            "TagOpenIDConnectProvider",
            "UntagOpenIDConnectProvider",
        }
    ),
    "secretsmanager": frozenset({"DescribeSecret", "TagResource", "UntagResource"}),
    "eks": frozenset({"ListTagsForResource", "TagResource", "UntagResource"}),
}
"""Operations of the tagger."""

SESSION_OPERATIONS: Mapping[str, frozenset[str]] = {"sts": frozenset({"AssumeRole", "GetCallerIdentity"})}

FACT_OPERATIONS: Mapping[str, frozenset[str]] = {
    "ssm": frozenset({"GetParameter"}),
    "ec2": frozenset({"DescribeImages", "DescribeInstanceTypes"}),
    "iam": frozenset({"GetRole", "GetInstanceProfile"}),
    "eks": frozenset({"DescribeCluster", "DescribeAddonVersions"}),
    "kms": frozenset({"DescribeKey"}),
}
"""Reads of facts, besides reads of kinds."""

COLLECTION_READS: Mapping[str, frozenset[str]] = {"ec2": frozenset({"DescribeVolumes", "DescribeSnapshots"})}
COLLECTION_WRITES: Mapping[str, frozenset[str]] = {"ec2": frozenset({"CreateSnapshot"})}
COLLECTED_DELETES: Mapping[str, frozenset[str]] = {
    "ec2": frozenset({"DeleteSecurityGroup", "DeleteNetworkInterface", "DeleteVolume"}),
    "elb": frozenset({"DeleteLoadBalancer"}),
    "elbv2": frozenset({"DeleteLoadBalancer", "DeleteTargetGroup"}),
}
"""Operations of the collection of workloads' leftovers (collectors), besides reads of kinds."""

OTHER_OPERATIONS = (TAG_OPERATIONS, SESSION_OPERATIONS, FACT_OPERATIONS)
"""Operations that belong to no kind."""


def operations_of(service: str) -> frozenset[str]:
    """Return every operation of a service that we use."""
    of_kinds = (kind.read_operations | kind.write_operations for kind in KINDS if kind.service == service)
    of_parts = (name for kind in KINDS for of, name in kind.part_reads | kind.part_writes if of == service)
    tables = (*OTHER_OPERATIONS, COLLECTION_READS, COLLECTION_WRITES, COLLECTED_DELETES)
    more = (table.get(service, frozenset()) for table in tables)
    return frozenset(of_parts).union(*of_kinds, *more)
