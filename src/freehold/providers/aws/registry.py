"""The kinds that an AWS cluster may use: an explicit list. A new kind is one file and one line here."""

from __future__ import annotations

from dataclasses import replace

from freehold.engine.kinds import Registry
from freehold.providers.aws.api_names import AWS_CLUSTER_KIND, AWS_MACHINE_KIND, AWS_MANAGED_CONTROL_PLANE_KIND
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.kind_facts import FACTS, KindFacts
from freehold.providers.aws.kinds import (
    bootstrap_secret,
    classic_load_balancer,
    egress_only_gateway,
    eks_access_entry,
    eks_addon,
    eks_cluster,
    elastic_ip,
    iam_role,
    instance,
    internet_gateway,
    listener,
    nat_gateway,
    network_load_balancer,
    oidc_provider,
    route_table,
    s3_bucket,
    security_group,
    subnet,
    target_group,
    vpc,
    vpc_endpoint,
)

OF_MACHINES = frozenset({"instance", "bootstrap-secret"})
"""The kinds that a machine may have: for others of its own nothing is searched when it goes."""
OF_CONTROL_PLANES = frozenset({"eks-cluster", "eks-addon", "eks-access-entry", "iam-role", "oidc-provider"})
"""The kinds that only a managed control plane may have."""
NOT_OF_CONTROL_PLANES = frozenset(
    {"classic-load-balancer", "network-load-balancer", "target-group", "listener", "s3-bucket", "bootstrap-secret"}
)
"""The kinds that a managed control plane never has: EKS has its own endpoint, and machines their own secrets."""


def aws_kinds(client: AwsClient) -> Registry:
    """Return all kinds, in the order of :data:`kind_facts.KINDS`; each sends with ``client``."""
    kinds = (
        vpc.kind(client),
        subnet.kind(client),
        internet_gateway.kind(client),
        egress_only_gateway.kind(client),
        elastic_ip.kind(client),
        nat_gateway.kind(client),
        route_table.kind(client),
        security_group.kind(client),
        vpc_endpoint.kind(client),
        instance.kind(client),
        classic_load_balancer.kind(client),
        network_load_balancer.kind(client),
        target_group.kind(client),
        listener.kind(client),
        s3_bucket.kind(client),
        bootstrap_secret.kind(client),
        eks_cluster.kind(client),
        eks_addon.kind(client),
        eks_access_entry.kind(client),
        iam_role.kind(client),
        oidc_provider.kind(client),
    )
    region = client.session.region
    return Registry(
        [
            replace(
                kind,
                deletion=replace(kind.deletion, delete_command=_delete_command(FACTS[kind.name], region)),
                never_of=_objects_without(kind.name),
            )
            for kind in kinds
        ]
    )


def _objects_without(kind: str) -> frozenset[str]:
    """Return the kinds of objects that never have a resource of this kind."""
    if kind in OF_CONTROL_PLANES:
        return frozenset({AWS_CLUSTER_KIND, AWS_MACHINE_KIND})
    never = frozenset() if kind in OF_MACHINES else frozenset({AWS_MACHINE_KIND})
    return never | {AWS_MANAGED_CONTROL_PLANE_KIND} if kind in NOT_OF_CONTROL_PLANES else never


def _delete_command(facts: KindFacts, region: str) -> str:
    """Return the AWS CLI's command for a person, with operations and members in hyphens
    (https://docs.aws.amazon.com/cli/latest/reference/)."""
    from botocore import xform_name

    service, operation = "s3api" if facts.service == "s3" else facts.service, xform_name(facts.delete, "-")
    named = " ".join(f"--{xform_name(member, '-')} {{{name}}}" for member, name in facts.delete_members.items())
    return f"aws {service} {operation} --region {region} {named}"
