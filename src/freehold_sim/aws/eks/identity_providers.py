"""External identity providers of a cluster: there are none, since none can be associated here (501).

https://docs.aws.amazon.com/eks/latest/userguide/authenticate-oidc-identity-provider.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, reads
from freehold_sim.aws.eks.common import cluster_of, listed, missing


def list_configs(call: Call) -> dict[str, Any]:
    cluster_of(call, call.params["clusterName"])
    return listed(call, "identityProviderConfigs", [])


def describe_config(call: Call) -> dict[str, Any]:
    """https://github.com/eksctl-io/eksctl/issues/6293"""
    cluster, wanted = cluster_of(call, call.params["clusterName"]), call.params["identityProviderConfig"]
    kind, name = wanted["type"], wanted["name"]
    raise missing(f"No config found for cluster: {cluster['id']}, config type: {kind}, config name: {name}")


OPERATIONS: tuple[Operation, ...] = (
    reads("ListIdentityProviderConfigs", list_configs, "clusterName maxResults nextToken"),
    reads("DescribeIdentityProviderConfig", describe_config,
          "clusterName identityProviderConfig.type identityProviderConfig.name"),
)  # fmt: skip
