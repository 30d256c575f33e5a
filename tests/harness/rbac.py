"""A judge of requests to an API server by Roles and their bindings, with the rules of Kubernetes' RBAC authorizer.

A request is parsed as kube-apiserver does
(https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go)
and a rule matched as there
(https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/rbac/v1/evaluation_helpers.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

Json = dict[str, Any]

READS = ("get", "list", "watch")
_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")
_DISCOVERY = ("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz",
              "/version", "/version/")  # fmt: skip
_OWN_REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")


@dataclass(frozen=True)
class Attributes:
    """What a request asks for. ``path`` is set, and the rest but ``verb`` empty, where it is about no resource."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def target(self) -> str:
        """The resource as a rule names it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, order=True)
class Right:
    """One verb on one resource of a rule: the least part of a Role that can be left out. ``namespace``: a Role's."""

    role: str
    namespace: str
    group: str
    resource: str
    verb: str
    names: tuple[str, ...] = ()
    path: str = ""

    def __str__(self) -> str:
        what = self.path or (f"{self.resource}.{self.group}" if self.group else self.resource)
        return f"{self.role}: {self.verb} {what}{f' {list(self.names)}' if self.names else ''}"

    def allows(self, asked: Attributes) -> bool:
        """Say whether it allows the request. A right on names does not allow one that has no name, as a create."""
        if self.verb not in ("*", asked.verb):
            return False
        if asked.path or self.path:
            return not self.namespace and _path_matches(self.path, asked.path)
        return (
            self.namespace in ("", asked.namespace)
            and self.group in ("*", asked.group)
            and _resource_matches(self.resource, asked)
            and (not self.names or asked.name in self.names)
        )


def _path_matches(allowed: str, asked: str) -> bool:
    if not allowed or not asked:
        return False
    if allowed in ("*", asked):
        return True
    return allowed.endswith("*") and asked.startswith(allowed.rstrip("*"))


def _resource_matches(allowed: str, asked: Attributes) -> bool:
    """``pods`` is not its subresources, and there is no ``pods/*``; ``*/status`` is that of every resource."""
    if allowed in ("*", asked.target):
        return True
    return bool(asked.subresource) and allowed == f"*/{asked.subresource}"


EVERYBODY = (
    *(Right("system:discovery", "", "", "", "get", path=path) for path in _DISCOVERY),
    *(Right("system:basic-user", "", "authorization.k8s.io", each, "create") for each in _OWN_REVIEWS),
    Right("system:basic-user", "", "authentication.k8s.io", "selfsubjectreviews", "create"),
)
"""What Kubernetes' own ClusterRoles grant to every user."""


@dataclass(frozen=True)
class User:
    """A user as an authorizer knows it."""

    name: str
    groups: tuple[str, ...] = ()


def name_account(account: str, namespace: str) -> User:
    """Return the user that a ServiceAccount is."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{account}", groups)


def collect_rights(objects: Iterable[Json], account: str, namespace: str) -> tuple[Right, ...]:
    """Collect what the bindings among the objects give to a ServiceAccount. Raises KeyError for a role not there."""
    return collect_rights_of(objects, name_account(account, namespace), strict=True)


def collect_rights_of(objects: Iterable[Json], user: User, *, strict: bool = False) -> tuple[Right, ...]:
    """Collect what the bindings among the objects give to a user. Raises KeyError for a role not there if ``strict``.

    Kubernetes passes over a binding of such a role.
    """
    objects = list(objects)
    roles = {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects
             if each["kind"] in ("Role", "ClusterRole")}  # fmt: skip
    found: list[Right] = []
    for binding in sorted(_bindings(objects), key=lambda each: str(each["kind"])):  # cluster-wide ones first
        place = binding["metadata"].get("namespace", "") if binding["kind"] == "RoleBinding" else ""
        if not any(_is_subject(subject, user, place) for subject in binding.get("subjects", ())):
            continue
        reference = binding["roleRef"]
        key = reference["kind"], place if reference["kind"] == "Role" else "", reference["name"]
        if strict or key in roles:
            found += (replace(each, namespace=place) for each in split_rules(roles[key]))
    return tuple(found)


def _bindings(objects: Iterable[Json]) -> Iterator[Json]:
    yield from (each for each in objects if each["kind"] in ("RoleBinding", "ClusterRoleBinding"))


def _is_subject(subject: Mapping[str, str], user: User, place: str) -> bool:
    match subject["kind"]:
        case "ServiceAccount":
            return name_account(subject["name"], subject.get("namespace") or place).name == user.name
        case "Group":
            return subject["name"] in user.groups
        case _:
            return subject["name"] == user.name


def split_rules(role: Json) -> Iterator[Right]:
    """Split the rules of a Role into rights."""
    name = f"{role['kind']} {role['metadata']['name']}"
    for rule in role.get("rules") or ():
        for verb in rule["verbs"]:
            for path in rule.get("nonResourceURLs", ()):
                yield Right(name, "", "", "", verb, path=path)
            for group in rule.get("apiGroups", ()):
                for resource in rule.get("resources", ()):
                    yield Right(name, "", group, resource, verb, tuple(rule.get("resourceNames", ())))


def find_right(rights: Iterable[Right], asked: Attributes) -> Right | None:
    """Find the narrowest right that allows the request, of names before of a namespace; None if none does."""
    found = [each for each in (*rights, *EVERYBODY) if each.allows(asked)]
    return min(found, key=lambda each: (not each.names, not each.namespace), default=None)


def parse_request(method: str, path: str, query: Mapping[str, str]) -> Attributes:
    """Parse a request as kube-apiserver does before it asks an authorizer."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    prefix = {"api": 2, "apis": 3}.get(parts[0], 0)
    if not prefix or len(parts) <= prefix:
        return Attributes(method.lower(), path=path)
    group, parts, verb = parts[1] if prefix == 3 else "", parts[prefix:], _VERBS[method]
    if parts[0] == "watch" and len(parts) > 1:
        verb, parts = "watch", parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    resource, name, subresource = (*parts[:3], "", "")[:3]
    if not name:
        verb, name = _judge_collection(verb, query)
    return Attributes(verb, group, resource, subresource, namespace, name)


def _judge_collection(verb: str, query: Mapping[str, str]) -> tuple[str, str]:
    """Tell the verb on a collection, and the one name to which a field selector narrows it."""
    if verb == "get":
        verb = "watch" if query.get("watch", "") in ("true", "1") else "list"
    elif verb == "delete":
        verb = "deletecollection"
    if verb not in (*READS, "deletecollection"):
        return verb, ""
    selected: Sequence[str] = query.get("fieldSelector", "").split(",")
    names = [each.partition("=")[2].removeprefix("=") for each in selected if each.startswith("metadata.name=")]
    return verb, names[0] if len(names) == 1 else ""


def explain_refusal(asked: Attributes, user: str) -> Json:
    """Build the Status with which kube-apiserver refuses."""
    if asked.path:
        message, details = f'forbidden: User "{user}" cannot {asked.verb} path "{asked.path}"', {}
    else:
        where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
        group = f".{asked.group}" if asked.group else ""
        named = f' "{asked.name}"' if asked.name else ""
        message = (
            f'{asked.resource}{group}{named} is forbidden: User "{user}" cannot {asked.verb} resource '
            f'"{asked.target}" in API group "{asked.group}" {where}'
        )
        fields = {"name": asked.name, "group": asked.group, "kind": asked.resource}
        details = {field: value for field, value in fields.items() if value}
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": "Forbidden", "details": details, "code": 403,
    }  # fmt: skip
