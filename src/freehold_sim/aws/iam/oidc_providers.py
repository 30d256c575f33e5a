"""OpenID Connect identity providers: one for each URL in an account.

https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateOpenIDConnectProvider.html
"""

import hashlib
from typing import Any
from urllib.parse import urlsplit

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.ec2.kinds import full
from freehold_sim.aws.iam.common import OIDC_PROVIDER, listed, tag_list, tags_of
from freehold_sim.aws.world import Record

_MOST_CLIENTS, _MOST_THUMBPRINTS = 100, 5


def create_provider(call: Call) -> dict[str, Any]:
    params, url = call.params, call.params["Url"]
    name = _name_of(url)
    if call.world.table(call.scope, OIDC_PROVIDER).get(name) is not None:
        raise Refused("EntityAlreadyExists", f"Provider with url {url} already exists.", 409)
    full(call, len(call.all(OIDC_PROVIDER)), call.settings.quotas.oidc_providers, "OpenId Connect providers")
    clients = list(dict.fromkeys(params.get("ClientIDList", [])))
    _check_clients(clients)
    thumbprints = params.get("ThumbprintList") or [_found_thumbprint(name)]
    _check_thumbprints(thumbprints)
    tags = tags_of(call, {}, params.get("Tags", []))
    view = {"Url": name, "ClientIDList": clients, "ThumbprintList": thumbprints, "CreateDate": call.now}
    arn = f"arn:aws:iam::{call.account}:oidc-provider/{name}"
    made = call.add(OIDC_PROVIDER, name, view, arn, tags=tags)
    return {"OpenIDConnectProviderArn": arn, "Tags": tag_list(made["tags"])}


def _name_of(url: str) -> str:
    """Return host and path of a URL, which is what IAM keeps of it; refuse what is no URL of a provider."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme != "https" or not parts.hostname or port or parts.query or parts.fragment:
        raise Refused("ValidationError", "Invalid Open ID Connect Provider URL")
    return f"{parts.netloc}{parts.path}"


def _found_thumbprint(name: str) -> str:
    """Return what IAM reads from the provider itself when the request has no thumbprint."""
    return hashlib.sha1(name.partition("/")[0].encode(), usedforsecurity=False).hexdigest()


def _check_clients(clients: list[str]) -> None:
    if len(clients) > _MOST_CLIENTS:
        text = f"Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: {_MOST_CLIENTS}"
        raise Refused("LimitExceeded", text, 409)


def _check_thumbprints(thumbprints: list[str]) -> None:
    if not 1 <= len(thumbprints) <= _MOST_THUMBPRINTS:
        raise Refused("InvalidInput", f"Thumbprint list must contain between 1 and {_MOST_THUMBPRINTS} entries.")
    for each in thumbprints:
        if set(each.lower()) - set("0123456789abcdef"):
            raise Refused("ValidationError", f"Invalid thumbprint: {each}")


def _find(call: Call) -> Record:
    arn = call.params["OpenIDConnectProviderArn"]
    if not arn.startswith("arn:") or ":oidc-provider/" not in arn:
        raise Refused("ValidationError", f"Invalid ARN: {arn}")
    record = call.get(OIDC_PROVIDER, arn.partition(":oidc-provider/")[2])
    if record is None or record["arn"] != arn:
        raise Refused("NoSuchEntity", f"OpenIDConnect Provider not found for arn {arn}", 404)
    return record


def get_provider(call: Call) -> dict[str, Any]:
    """Describe a provider. Its URL has no scheme (https://github.com/kubernetes-sigs/cluster-api-provider-aws/pull/4017)."""
    record = _find(call)
    return {**record["view"], "Tags": tag_list(record["tags"])}


def list_providers(call: Call) -> dict[str, Any]:
    rows = [row for row in call.all(OIDC_PROVIDER) if call.sees(row)]
    return {"OpenIDConnectProviderList": [{"Arn": row["arn"]} for row in rows]}


def delete_provider(call: Call) -> dict[str, Any]:
    """Delete a provider; that of one which is not there succeeds.

    https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteOpenIDConnectProvider.html
    """
    try:
        call.world.remove(_find(call), call.now)
    except Refused as refused:
        if refused.code != "NoSuchEntity":
            raise
    return {}


def add_client(call: Call) -> dict[str, Any]:
    record, client = _find(call), call.params["ClientID"]
    wanted = list(dict.fromkeys([*record["view"]["ClientIDList"], client]))
    _check_clients(wanted)
    record["view"]["ClientIDList"] = wanted
    return {}


def remove_client(call: Call) -> dict[str, Any]:
    record, client = _find(call), call.params["ClientID"]
    record["view"]["ClientIDList"] = [each for each in record["view"]["ClientIDList"] if each != client]
    return {}


def update_thumbprints(call: Call) -> dict[str, Any]:
    record = _find(call)
    _check_thumbprints(call.params["ThumbprintList"])
    record["view"]["ThumbprintList"] = call.params["ThumbprintList"]
    return {}


def tag_provider(call: Call) -> dict[str, Any]:
    record = _find(call)
    call.world.set_tags(record, tags_of(call, record["tags"], call.params["Tags"]), call.now)
    return {}


def untag_provider(call: Call) -> dict[str, Any]:
    record = _find(call)
    gone = {key.lower() for key in call.params["TagKeys"]}
    kept = {key: value for key, value in record["tags"].items() if key.lower() not in gone}
    call.world.set_tags(record, kept, call.now)
    return {}


def list_tags(call: Call) -> dict[str, Any]:
    return listed(call, "Tags", tag_list(dict(sorted(_find(call)["tags"].items()))))


_ARN = "OpenIDConnectProviderArn"
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateOpenIDConnectProvider", create_provider, "Url ClientIDList ThumbprintList Tags"),
    reads("GetOpenIDConnectProvider", get_provider, _ARN),
    reads("ListOpenIDConnectProviders", list_providers),
    writes("DeleteOpenIDConnectProvider", delete_provider, _ARN),
    writes("AddClientIDToOpenIDConnectProvider", add_client, f"{_ARN} ClientID"),
    writes("RemoveClientIDFromOpenIDConnectProvider", remove_client, f"{_ARN} ClientID"),
    writes("UpdateOpenIDConnectProviderThumbprint", update_thumbprints, f"{_ARN} ThumbprintList"),
    writes("TagOpenIDConnectProvider", tag_provider, f"{_ARN} Tags"),
    writes("UntagOpenIDConnectProvider", untag_provider, f"{_ARN} TagKeys"),
    reads("ListOpenIDConnectProviderTags", list_tags, f"{_ARN} Marker MaxItems"),
)
