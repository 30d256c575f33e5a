"""The switches of what EKS installs into a cluster by itself: the container network and kube-proxy.

They need a client of the workload cluster, which Freehold has not: fields of upstream that are kept and not acted on.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from freehold.api.base import ApiModel, Items, build_extensions
from freehold.providers.aws.machine.types.templates import Quantity


class ConfigMapKey(ApiModel):
    """A key of a ConfigMap."""

    key: str
    """The key."""
    name: str = ""
    """Name of the ConfigMap."""
    optional: bool | None = None
    """Whether it may be missing."""


class PodField(ApiModel):
    """A field of the pod."""

    api_version: str | None = None
    """The version that the path is written in."""
    field_path: str
    """Its path."""


class FileKey(ApiModel):
    """A key of a file in a volume."""

    key: str
    """The key."""
    optional: bool = False
    """Whether it may be missing."""
    path: str
    """Path of the file in the volume."""
    volume_name: str
    """The volume."""


class ResourceField(ApiModel):
    """A resource of the container."""

    container_name: str | None = None
    """The container."""
    divisor: Quantity | None = None
    """The unit."""
    resource: str
    """The resource."""


class SecretKey(ApiModel):
    """A key of a Secret."""

    key: str
    """The key."""
    name: str = ""
    """Name of the Secret."""
    optional: bool | None = None
    """Whether it may be missing."""


_ATOMIC = build_extensions(map_type="atomic")


class EnvVarSource(ApiModel):
    """Where the value of a variable is from."""

    config_map_key_ref: Annotated[ConfigMapKey, Field(json_schema_extra=_ATOMIC)] | None = None
    """A ConfigMap."""
    field_ref: Annotated[PodField, Field(json_schema_extra=_ATOMIC)] | None = None
    """The pod."""
    file_key_ref: Annotated[FileKey, Field(json_schema_extra=_ATOMIC)] | None = None
    """A file."""
    resource_field_ref: Annotated[ResourceField, Field(json_schema_extra=_ATOMIC)] | None = None
    """A resource of the container."""
    secret_key_ref: Annotated[SecretKey, Field(json_schema_extra=_ATOMIC)] | None = None
    """A Secret."""


class EnvVar(ApiModel):
    """A variable of the environment of ``aws-node``."""

    name: str
    """Its name."""
    value: str | None = None
    """Its value."""
    value_from: EnvVarSource | None = None
    """Where its value is from."""


class VpcCni(ApiModel):
    """The container network that EKS installs."""

    disable: bool = False
    """Remove it."""
    env: Items[EnvVar] = ()
    """Variables of its environment."""


class KubeProxy(ApiModel):
    """The kube-proxy that EKS installs."""

    disable: bool = False
    """Remove it."""
