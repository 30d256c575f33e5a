"""Steps of the script of aws_script.py: who may enter a cluster, and OpenID Connect providers."""

from collections.abc import Callable, Mapping
from typing import Any

Step = Callable[[Callable[[str], Any], dict[str, Any]], Any]
_URL, _PRINT = "https://oidc.example/id/one", ["a" * 40]


def _provider(c: Any, m: dict[str, Any], **more: Any) -> str:
    asked = {"Url": _URL, "ClientIDList": ["sts.amazonaws.com"], "ThumbprintList": _PRINT, **more}
    m["oidc"] = c("iam").create_open_id_connect_provider(**asked)["OpenIDConnectProviderArn"]
    return str(m["oidc"].rpartition(":")[2])


def _delete_provider(c: Any, m: dict[str, Any]) -> None:
    c("iam").delete_open_id_connect_provider(OpenIDConnectProviderArn=m["oidc"])


def _get_provider(c: Any, m: dict[str, Any]) -> str:
    return str(c("iam").get_open_id_connect_provider(OpenIDConnectProviderArn=m["oidc"])["Url"])


def _clients(c: Any, m: dict[str, Any]) -> None:
    c("iam").add_client_id_to_open_id_connect_provider(OpenIDConnectProviderArn=m["oidc"], ClientID="x")


STEPS: Mapping[str, Step] = {
    "OIDC provider": _provider,
    "OIDC provider of a URL that has one": _provider,
    "URL of an OIDC provider": _get_provider,
    "client added to an OIDC provider": _clients,
    "OIDC provider by http": lambda c, m: _provider(c, m, Url="http://oidc.example"),
    "OIDC provider without thumbprint": lambda c, m: _provider(c, m, Url="https://b.example", ThumbprintList=[]),
    "OIDC provider with six thumbprints": lambda c, m: _provider(
        c, m, Url="https://c.example", ThumbprintList=_PRINT * 6
    ),
    "OIDC provider deleted": _delete_provider,
    "missing OIDC provider deleted": _delete_provider,
    "missing OIDC provider": _get_provider,
    "node group of a missing cluster": lambda c, m: c("eks").create_nodegroup(
        clusterName="none", nodegroupName="n", nodeRole="arn:aws:iam::123456789012:role/n", subnets=m["subnets"][1:]
    ),
    "missing node group changed": lambda c, m: c("eks").update_nodegroup_config(
        clusterName="none", nodegroupName="n", scalingConfig={"maxSize": 3}
    ),
    "Fargate profiles of a missing cluster": lambda c, m: c("eks").list_fargate_profiles(clusterName="none"),
    "access entries of a missing cluster": lambda c, m: c("eks").list_access_entries(clusterName="none"),
}
