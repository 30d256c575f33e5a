"""The JSON types of request fields: a body with other types is refused before a service reads it."""

from collections.abc import Mapping
from typing import Any

_TEXT = (str,)
_OBJECT = (dict,)
_LIST = (list,)

# A field name has the same type in every service here; the few exceptions list both types.
_SHAPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("algorithm", "cidr", "cidr_block", "direction", "dnsServer", "address", "ipv4_cidr_block", "location",
         "name", "network_id", "network_type", "networkID", "protocol", "resource_plan_id", "search_cursor",
         "serverName", "source", "tag_name", "resource_id", "id", "crn", "href", "cloudConnectionID", "action",
         "destination", "address_prefix_management", "proxy_protocol", "cookie_name", "url_path", "gateway",
         "accessConfig", "advertise", "arpBroadcast", "ipAddress", "pvmInstanceID", "instanceID", "description",
         "state", "comment", "request_by", "role", "startingIPAddress", "endingIPAddress"),
        _TEXT,
    ),
    **dict.fromkeys(
        ("vpc", "zone", "session_persistence", "network_acl", "before", "dns", "remote", "local", "default_pool",
         "health_monitor", "parameters", "profile"),
        _OBJECT,
    ),
    **dict.fromkeys(
        ("subnets", "pools", "listeners", "members", "rules", "resources", "security_groups", "networks",
         "tag_names", "tags", "userTags", "fields", "dnsServers", "ipAddressRanges"),
        _LIST,
    ),
    "resource_group": (str, dict),
    "type": (str, int),
    "target": (str, dict),
    "query": (str, dict),
}  # fmt: skip

_LISTS_OF_TEXT = {"tag_names", "tags", "userTags", "fields", "dnsServers"}


def misshapen(body: Mapping[str, Any]) -> str:
    """Return the first field whose value has the wrong JSON type, "" if there is none. null counts as absent."""
    for key, value in body.items():
        if value is None:
            continue
        wanted = _SHAPES.get(key)
        if wanted is not None and not isinstance(value, wanted):
            return key
        if wanted is _LIST:
            item = str if key in _LISTS_OF_TEXT else dict
            if not all(isinstance(one, item) for one in value):
                return key
        for nested in value if isinstance(value, list) else [value]:
            if isinstance(nested, dict) and (inner := misshapen(nested)):
                return f"{key}.{inner}"
    return ""
