"""A cluster as EKS describes it, under our names."""

from __future__ import annotations

from collections.abc import Mapping

from freehold.engine.resources import State
from freehold.providers.aws.calls import Json
from freehold.providers.aws.decoded import DecodedResource, epoch
from freehold.providers.aws.eks import health_of

_STATES: Mapping[str, State] = {
    "CREATING": State.PENDING,
    "ACTIVE": State.READY,
    "UPDATING": State.READY,
    "DELETING": State.DELETING,
    "FAILED": State.FAILED,
}
_UPDATING = "UPDATING"
OUTPUTS = frozenset({"address", "certificate", "issuer", "cluster_security_group", "vpc_id", "platform_version"})


def decode(body: Json) -> DecodedResource:
    """Decode a cluster. One that is being updated goes on serving; it takes no other update meanwhile."""
    arn, word, network = body["arn"], body["status"], body.get("resourcesVpcConfig", {})
    keys = [row.get("provider", {}).get("keyArn", "") for row in body.get("encryptionConfig") or ()]
    created = body.get("createdAt")
    return DecodedResource(
        id=arn,
        arn=arn,
        state=_STATES.get(word, State.PENDING),
        vendor_state=word,
        tags=body.get("tags") or {},
        attributes={
            "name": body["name"],
            "version": body.get("version", ""),
            "role_arn": body.get("roleArn", ""),
            "subnets": sorted(network.get("subnetIds", ())),
            "security_groups": sorted(network.get("securityGroupIds", ())),
            "endpoint_public": network.get("endpointPublicAccess", False),
            "endpoint_private": network.get("endpointPrivateAccess", False),
            "public_cidrs": sorted(network.get("publicAccessCidrs", ())),
            "logging": _logging_on(body),
            "access_mode": (body.get("accessConfig") or {}).get("authenticationMode", ""),
            "encryption_key": next(iter(keys), ""),
            "upgrade_policy": (body.get("upgradePolicy") or {}).get("supportType", ""),
            "service_cidr": (body.get("kubernetesNetworkConfig") or {}).get("serviceIpv4Cidr", ""),
            "address": body.get("endpoint") or "",
            "certificate": (body.get("certificateAuthority") or {}).get("data") or "",
            "issuer": ((body.get("identity") or {}).get("oidc") or {}).get("issuer") or "",
            "cluster_security_group": network.get("clusterSecurityGroupId") or "",
            "vpc_id": network.get("vpcId") or "",
            "platform_version": body.get("platformVersion") or "",
        },
        created_at=epoch(created),
        message=health_of(body),
        incarnation=created.isoformat() if created else "",
        busy=f"EKS is updating the cluster {body['name']}" if word == _UPDATING else "",
    )


def _logging_on(body: Json) -> list[str]:
    rows = (body.get("logging") or {}).get("clusterLogging", ())
    return sorted({each for row in rows if row.get("enabled") for each in row.get("types", ())})
