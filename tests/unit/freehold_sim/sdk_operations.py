"""The operations of IBM's Python SDKs, read from their source: method, path, fields of the body, query parameters."""

import ast
import inspect
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module

SDKS = {
    "rc": ("ibm_platform_services.resource_controller_v2", "ResourceControllerV2"),
    "rm": ("ibm_platform_services.resource_manager_v2", "ResourceManagerV2"),
    "tagging": ("ibm_platform_services.global_tagging_v1", "GlobalTaggingV1"),
    "search": ("ibm_platform_services.global_search_v2", "GlobalSearchV2"),
    "transit": ("ibm_cloud_networking_services.transit_gateway_apis_v1", "TransitGatewayApisV1"),
    "vpc": ("ibm_vpc.vpc_v1", "VpcV1"),
}


@dataclass(frozen=True)
class SdkOperation:
    """`fields` of the body by name; for a body that is one model, `model` is the parameter's name."""

    service: str
    name: str
    method: str
    path: str
    fields: frozenset[str]
    model: str
    query: frozenset[str]
    if_match: bool


@cache
def operations(service: str) -> tuple[SdkOperation, ...]:
    """Return each method of the service's client that sends a request.

    Only the client is parsed: of the VPC's SDK it is a fifth, and the rest are classes for bodies.
    """
    module, client = SDKS[service]
    source = inspect.getsource(import_module(module))
    (text,) = re.findall(rf"^class {client}\(.*?(?=^class )", source, re.MULTILINE | re.DOTALL)
    (found_client,) = ast.parse(text).body
    functions = (each for each in ast.iter_child_nodes(found_client) if isinstance(each, ast.FunctionDef))
    return tuple(found for each in functions if (found := _operation(service, each)))


def _operation(service: str, function: ast.FunctionDef) -> SdkOperation | None:
    method = path = model = ""
    dicts: dict[str, set[str]] = {"data": set(), "params": set(), "headers": set()}
    for node in ast.walk(function):
        if isinstance(node, ast.keyword) and node.arg == "method" and isinstance(node.value, ast.Constant):
            method = str(node.value.value)
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name, value = node.targets[0].id, node.value
        if name == "url":
            path = next(str(c.value) for c in ast.walk(value) if isinstance(c, ast.Constant))
        elif name in dicts and isinstance(value, ast.Dict):
            dicts[name] |= {str(key.value) for key in value.keys if isinstance(key, ast.Constant)}
        elif name == "data" and isinstance(value, ast.Call) and value.args and isinstance(value.args[0], ast.Name):
            model = value.args[0].id if value.args[0].id != "data" else model
    if not (method and path):
        return None
    fields, query = frozenset(dicts["data"]), frozenset(dicts["params"])
    return SdkOperation(service, function.name, method, path, fields, model, query, "If-Match" in dicts["headers"])
