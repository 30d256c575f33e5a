"""``MetadataGrant`` (metadata-controller.cloud.io/v1alpha1): what the CloudMetadata of some namespaces may do.

While there is no grant, every namespace may do what the operator may. From the first one on, a namespace may do only
what one names (docs/reference/metadata-compat.md#grants).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from freehold.api.base import ApiModel, Items

Namespace = Annotated[str, Field(min_length=1, max_length=63)]


class GrantedClassifier(ApiModel):
    """A tag by which resources may be found."""

    key: Annotated[str, Field(min_length=1, max_length=128)]
    """Its key."""
    value: Annotated[str, Field(max_length=256)] | None = None
    """Its value; any where there is none."""


class MetadataGrantSpec(ApiModel):
    """To whom, and what. An empty list does not narrow."""

    namespaces: Annotated[Items[Namespace], Field(min_length=1, max_length=100)]
    """Namespaces of the CloudMetadata objects."""
    classifiers: Annotated[Items[GrantedClassifier], Field(max_length=50)] = ()
    """Tags by which they may find resources; all of an object's classifiers must be among them."""
    keys: Annotated[Items[Annotated[str, Field(min_length=1, max_length=128)]], Field(max_length=100)] = ()
    """Keys of tags that they may write and remove; one that ends with * is a prefix."""
    accounts: Annotated[Items[Annotated[str, Field(min_length=1, max_length=64)]], Field(max_length=100)] = ()
    """Accounts in which they may do so."""
    references: Annotated[Items[Namespace], Field(max_length=100)] = ()
    """Other namespaces whose AWSMetadata and IBMMetadata they may refer to; none where it is empty."""


class MetadataGrant(ApiModel):
    """What the CloudMetadata objects of some namespaces may do."""

    spec: MetadataGrantSpec
    """To whom, and what."""
