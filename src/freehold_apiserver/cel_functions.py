"""The functions that Kubernetes adds to CEL, limited to those used in CRD rules.

Source: https://kubernetes.io/docs/reference/using-api/cel/ . A rule that calls another
function is reported when its CRD is written (:mod:`freehold_apiserver.cel_rules`), never ignored silently.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit


def _substring(text: str, start: int, end: int | None = None) -> str:
    if start < 0 or start > len(text) or (end is not None and not start <= end <= len(text)):
        raise ValueError("index out of range")
    return text[start:end]


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator == "":
        return list(text)
    return text.split(separator, limit - 1 if limit > 0 else -1)


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def _index_of(where: str | Sequence[Any], what: Any, start: int = 0) -> int:
    if isinstance(where, str):
        return where.find(what, start)
    return next((index for index, each in enumerate(where) if each == what), -1)


def _last_index_of(where: str | Sequence[Any], what: Any) -> int:
    if isinstance(where, str):
        return where.rfind(what)
    return max((index for index, each in enumerate(where) if each == what), default=-1)


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise ValueError("index out of range")
    return text[index : index + 1]


def _join(parts: Sequence[str], separator: str = "") -> str:
    return separator.join(parts)


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found.group(0) if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [each.group(0) for each in re.finditer(pattern, text)]
    return found if limit < 0 else found[:limit]


def _is_sorted(values: Sequence[Any]) -> bool:
    return all(values[index] <= values[index + 1] for index in range(len(values) - 1))


def _format(text: str, values: Sequence[Any]) -> str:
    return re.sub(r"%[sd]", "{}", text.replace("{", "{{").replace("}", "}}")).format(*values)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc) or text.startswith("/")


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


def _family(text: str) -> int:
    return ipaddress.ip_interface(text).version


def _contains_ip(network: str, address: str) -> bool:
    return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)


def _contains_cidr(network: str, other: str) -> bool:
    outer, inner = ipaddress.ip_network(network, strict=False), ipaddress.ip_network(other, strict=False)
    if isinstance(outer, ipaddress.IPv4Network) and isinstance(inner, ipaddress.IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(outer, ipaddress.IPv6Network) and isinstance(inner, ipaddress.IPv6Network):
        return inner.subnet_of(outer)
    return False


def _same(text: str) -> str:
    # ip(), cidr() and url() return typed values upstream; here they return the text.
    return text


LENGTH = "freeholdLength"
"""Instead of ``size``: the library counts the bytes of a text, and CEL its code points
(https://github.com/google/cel-spec/blob/master/doc/langdef.md#list-of-standard-definitions).
"""

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    LENGTH: len,
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "trim": str.strip,
    "split": _split,
    "replace": _replace,
    "substring": _substring,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "charAt": _char_at,
    "join": _join,
    "format": _format,
    "find": _find,
    "findAll": _find_all,
    "isSorted": _is_sorted,
    "sum": sum,
    "min": lambda values: min(values),
    "max": lambda values: max(values),
    "isURL": _is_url,
    "url": _same,
    "getScheme": lambda text: urlsplit(text).scheme,
    "getHost": lambda text: urlsplit(text).netloc,
    "getHostname": lambda text: urlsplit(text).hostname or "",
    "getPort": lambda text: str(urlsplit(text).port or ""),
    "getEscapedPath": lambda text: urlsplit(text).path,
    "isIP": _is_ip,
    "ip": _same,
    "family": _family,
    "isCIDR": _is_cidr,
    "cidr": _same,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "prefixLength": lambda text: ipaddress.ip_network(text, strict=False).prefixlen,
}
