"""The identity that an object names: whether its namespace may use it, and its credentials for AWS.

As upstream (https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/scope/session.go): each
identity on the way, those that assume roles included, must allow the namespace of the object.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from freehold.api.base import ApiModel
from freehold.api.parse import InvalidObject, parse
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import NAMESPACES, SECRETS, Json, Key, Resource
from freehold.providers.aws.api_names import (
    AWS_CONTROLLER_IDENTITY_KIND,
    AWS_CONTROLLER_IDENTITY_NAME,
    AWS_ROLE_IDENTITY_KIND,
    AWS_STATIC_IDENTITY_KIND,
)
from freehold.providers.aws.cluster import cluster_plan, identities
from freehold.providers.aws.identities import SESSION_NAME, AssumedRole, Identity, OwnCredentials, StaticKeys
from freehold.providers.aws.types.identity import (
    AllowedNamespaces,
    AWSClusterControllerIdentitySpec,
    AWSClusterRoleIdentitySpec,
    AWSClusterStaticIdentitySpec,
    AWSIdentityReference,
)
from freehold.providers.aws.types.served import AWS_CONTROLLER_IDENTITY, AWS_ROLE_IDENTITY, AWS_STATIC_IDENTITY
from freehold.providers.objects.served_resources import resource_of

M = TypeVar("M", bound=ApiModel)

KINDS: Mapping[str, Resource] = {
    served.kind: resource_of(served) for served in (AWS_STATIC_IDENTITY, AWS_ROLE_IDENTITY, AWS_CONTROLLER_IDENTITY)
}
_OWN = OwnCredentials()
ACCESS_KEY, SECRET_KEY, SESSION_TOKEN = "AccessKeyID", "SecretAccessKey", "SessionToken"


class IdentityReference(NamedTuple):
    """An identity by kind and name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


DEFAULT = IdentityReference(AWS_CONTROLLER_IDENTITY_KIND, AWS_CONTROLLER_IDENTITY_NAME)
"""The identity of an object without ``identityRef``."""


class RoleRequest(NamedTuple):
    """A role that an object names by its ARN.

    ``external_id`` is empty and ``caller`` None where the object does not narrow them.
    """

    arn: str
    external_id: str = ""
    caller: IdentityReference | None = None

    def __str__(self) -> str:
        external = " with the external id of spec.role" if self.external_id else ""
        return f"{self.arn}{external}{f' and the source {self.caller}' if self.caller else ''}"


class IdentityNotUsable(Exception):
    """The identity cannot be used for this object; the text says why, and what to do. It holds no secret."""


class IdentityNotAllowed(IdentityNotUsable):
    """The namespace of the object may not use the identity."""


class IdentityReader(Protocol):
    """The reads that identities need of a Kubernetes client."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList: ...


class StoredIdentities:
    """Identities, read again each time, so that a right that is taken away counts from the next pass on.

    ``secrets_in`` is the operator's own namespace, with the Secrets of static identities. ``own`` is what the
    controller's identity stands for.
    """

    def __init__(self, client: IdentityReader, secrets_in: str, own: Identity = _OWN) -> None:
        self._client = client
        self._secrets_in = secrets_in
        self._own = own

    async def credentials(self, reference: IdentityReference, namespace: str) -> Identity:
        """Return the identity for an object of ``namespace``. Raises IdentityNotUsable and KubeError."""
        return await self._resolve(reference, namespace, ())

    async def find_by_role(self, role: RoleRequest, namespace: str) -> tuple[IdentityReference, Identity]:
        """Find an identity with this role that ``namespace`` may use. Raises IdentityNotUsable and KubeError.

        An ARN gives no right: an object that names one gets what an AWSClusterRoleIdentity gives to its namespace (ADR
        20).
        """
        refused = ""
        for raw in await self._role_identities():
            reference = IdentityReference(AWS_ROLE_IDENTITY_KIND, str(raw["metadata"]["name"]))
            if not _grants(raw, role):
                continue
            try:
                return reference, await self._use(reference, raw, namespace, ())
            except IdentityNotUsable as problem:
                refused = refused or f": {problem}"
        raise IdentityNotAllowed(
            f"spec.role.arn: no {AWS_ROLE_IDENTITY_KIND} gives namespace {namespace} the role {role}{refused}. Name an "
            f"identity that allows the namespace in spec.identityRef, without spec.role, or make an "
            f"{AWS_ROLE_IDENTITY_KIND} with this spec.roleARN and the namespace in spec.allowedNamespaces "
            "(kubectl get awsclusterroleidentities)"
        )

    async def resolve_unchecked(self, reference: IdentityReference) -> Identity:
        """Return the identity without a check of namespaces, for a command whose user may read the Secrets anyway."""
        return await self._resolve(reference, None, ())

    async def _resolve(
        self, reference: IdentityReference, namespace: str | None, before: tuple[IdentityReference, ...]
    ) -> Identity:
        if reference in before:
            raise IdentityNotUsable(
                f"{before[0]} is assumed by itself ({' by '.join(map(str, (*before, reference)))}); name another "
                "identity in spec.sourceIdentityRef"
            )
        return await self._use(reference, await self._read(reference), namespace, before)

    async def _use(
        self,
        reference: IdentityReference,
        raw: Json | None,
        namespace: str | None,
        before: tuple[IdentityReference, ...],
    ) -> Identity:
        if reference.kind == AWS_CONTROLLER_IDENTITY_KIND:
            await self._check(reference, _allowed_by_controller(reference, raw), namespace)
            return self._own
        if reference.kind == AWS_STATIC_IDENTITY_KIND:
            static = _parse_spec(AWSClusterStaticIdentitySpec, reference, raw)
            await self._check(reference, static.allowed_namespaces, namespace)
            return await self._keys(reference, static.secret_ref)
        role = _parse_spec(AWSClusterRoleIdentitySpec, reference, raw)
        await self._check(reference, role.allowed_namespaces, namespace)
        if role.source_identity_ref is None:
            raise IdentityNotUsable(f"{reference} names nobody who assumes the role; set its spec.sourceIdentityRef")
        source = IdentityReference(role.source_identity_ref.kind, role.source_identity_ref.name)
        return _assumed_role(role, await self._resolve(source, namespace, (*before, reference)))

    async def _read(self, reference: IdentityReference) -> Json | None:
        """Return the object; None for a missing default identity: upstream makes one, open to all namespaces."""
        try:
            return await self._get(KINDS[reference.kind], Key("", reference.name))
        except kube.ObjectNotFound:
            if reference == DEFAULT:
                return None
            raise IdentityNotUsable(
                f"{reference} does not exist; make it, or name another one in spec.identityRef"
            ) from None

    async def _role_identities(self) -> Sequence[Json]:
        """Return all role identities, sorted by name; none without the CRD."""
        resource = KINDS[AWS_ROLE_IDENTITY_KIND]
        try:
            found = (await self._client.list(resource)).items
        except kube.ObjectNotFound:
            return ()
        except kube.Forbidden as error:
            raise IdentityNotUsable(
                f"the role of spec.role cannot be checked: {error}; grant the operator 'list' on {resource}"
            ) from None
        return sorted(found, key=lambda each: str(each["metadata"]["name"]))

    async def _check(
        self, reference: IdentityReference, allowed: AllowedNamespaces | None, namespace: str | None
    ) -> None:
        if namespace is None:
            return
        labels = await self._labels(namespace) if allowed is not None and allowed.selector is not None else {}
        named = cluster_plan.CallerIdentity(reference.kind, reference.name)
        answer = identities.may_use(named, allowed, namespace, labels)
        if isinstance(answer, identities.NotAllowed):
            raise IdentityNotAllowed(answer.message)

    async def _labels(self, namespace: str) -> Mapping[str, str]:
        try:
            found = await self._get(NAMESPACES, Key("", namespace))
        except kube.ObjectNotFound:
            return {}
        labels: Mapping[str, str] = found["metadata"].get("labels") or {}
        return labels

    async def _keys(self, reference: IdentityReference, name: str) -> StaticKeys:
        key = Key(self._secrets_in, name)
        where = f"Secret {key}"
        try:
            secret = await self._get(SECRETS, key)
        except kube.ObjectNotFound:
            raise IdentityNotUsable(
                f"{reference} names {where}, which does not exist; make it with {ACCESS_KEY} and {SECRET_KEY}"
            ) from None
        entries = {name: _secret_entry(secret, name, where) for name in (ACCESS_KEY, SECRET_KEY, SESSION_TOKEN)}
        if missing := [name for name in (ACCESS_KEY, SECRET_KEY) if not entries[name]]:
            raise IdentityNotUsable(f"{where} of {reference} has no entry {' and no '.join(missing)}; add it")
        return StaticKeys(entries[ACCESS_KEY], entries[SECRET_KEY], entries[SESSION_TOKEN], f"{where} of {reference}")

    async def _get(self, resource: Resource, key: Key) -> Json:
        try:
            return await self._client.get(resource, key)
        except kube.Forbidden as error:
            raise IdentityNotUsable(
                f"the identity cannot be checked: {error}; grant the operator 'get' on {resource}"
            ) from None


def _grants(raw: Json, role: RoleRequest) -> bool:
    spec: Json = raw.get("spec") or {}
    source: Json = spec.get("sourceIdentityRef") or {}
    return (
        spec.get("roleARN") == role.arn
        and role.external_id in ("", spec.get("externalID"))
        and role.caller in (None, (source.get("kind"), source.get("name")))
    )


def _allowed_by_controller(reference: IdentityReference, raw: Json | None) -> AllowedNamespaces | None:
    if raw is None:
        return AllowedNamespaces()
    return _parse_spec(AWSClusterControllerIdentitySpec, reference, raw).allowed_namespaces


def reference_of(raw: Mapping[str, Any]) -> IdentityReference:
    """Return the identity that an object names in ``spec.identityRef``. Raises IdentityNotUsable."""
    said = (raw.get("spec") or {}).get("identityRef")
    if said is None:
        return DEFAULT
    try:
        found = parse(AWSIdentityReference, said, at="spec.identityRef")
    except InvalidObject as error:
        raise IdentityNotUsable(str(error)) from None
    return IdentityReference(found.kind, found.name)


def _assumed_role(spec: AWSClusterRoleIdentitySpec, source: Identity) -> AssumedRole:
    return AssumedRole(
        arn=spec.role_arn,
        source=source,
        external_id=spec.external_id or "",
        session_name=spec.session_name or SESSION_NAME,
        seconds=spec.duration_seconds or AssumedRole.seconds,
        policy=spec.inline_policy or "",
        policy_arns=tuple(spec.policy_arns),
    )


def _parse_spec(model: type[M], reference: IdentityReference, raw: Json | None) -> M:
    try:
        return parse(model, (raw or {}).get("spec"), at="spec")
    except InvalidObject as error:
        raise IdentityNotUsable(f"{reference} is not valid: {error}") from None


def _secret_entry(secret: Json, name: str, where: str) -> str:
    encoded = (secret.get("data") or {}).get(name)
    if encoded is None:
        return str((secret.get("stringData") or {}).get(name, ""))
    try:
        return base64.b64decode(encoded, validate=True).decode().strip()
    except (binascii.Error, UnicodeDecodeError, TypeError):
        raise IdentityNotUsable(f"the entry {name} of {where} is not base64 of a text; write it again") from None
