"""Buckets of an object storage instance, over the S3 API (docs/reference/ibm-cloud.md#object-storage)."""

from __future__ import annotations

from typing import Any

from freehold.engine.errors import Denied
from freehold.providers.ibm import errors
from freehold.providers.ibm.calls import ApiClient, rows
from freehold.providers.ibm.resource_controller import COS, Instances

LIST_REGION = "us-south"
"""Any endpoint lists the buckets of an instance in every region."""
CLASS = "smart"
"""The storage class: the one that CAPIBM uses."""


def join(instance: str, region: str, name: str) -> str:
    """The engine id: its last component, ``<region>.<name>``, is what the carrier's mark names."""
    return f"{instance}/{region}.{name}"


def split(engine_id: str) -> tuple[str, str, str]:
    """Instance guid, region and name. No region has a dot in its name."""
    instance, _, rest = engine_id.partition("/")
    region, _, name = rest.partition(".")
    return instance, region, name


class Buckets:
    """The operations that we need."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._instances = Instances(client, COS)

    async def of_instance(self, instance: str) -> dict[str, str]:
        """Name and region of every bucket of an instance; none when it is gone, for which S3 refuses to list them."""
        try:
            return await self._every(instance)
        except (Denied, errors.ListNotFound):
            if await self._instances.get(instance) is not None:
                raise
            return {}

    async def _every(self, instance: str) -> dict[str, str]:
        """All pages."""
        found: dict[str, str] = {}
        marker, seen = "", set[str]()
        while marker not in seen:
            seen.add(marker)
            body = await self._page(instance, marker)
            page = rows(body, "Buckets", "list_buckets", f"of object storage instance {instance}")
            found |= {row["Name"]: str(row.get("LocationConstraint", "")).rpartition("-")[0] for row in page}
            if not body.get("IsTruncated") or not page:
                return found
            marker = str(body.get("NextMarker") or page[-1]["Name"])
        raise errors.endless("list_buckets", f"of object storage instance {instance}")

    async def create(self, instance: str, region: str, name: str) -> None:
        location = {"LocationConstraint": f"{region}-{CLASS}"}
        await self._client.write(
            "cos",
            "create_bucket",
            lambda: self._client.session.cos(region).create_bucket(
                Bucket=name, IBMServiceInstanceId=instance, CreateBucketConfiguration=location
            ),
            f"bucket {name}",
            region=region,
        )

    async def delete(self, region: str, name: str) -> None:
        await self._client.write(
            "cos",
            "delete_bucket",
            lambda: self._client.session.cos(region).delete_bucket(Bucket=name),
            f"bucket {name}",
            region=region,
        )

    async def _page(self, instance: str, marker: str) -> dict[str, Any]:
        page = {"Marker": marker} if marker else {}
        body: dict[str, Any] = await self._client.read_list(
            "cos",
            "list_buckets",
            lambda: self._client.session.cos(LIST_REGION).list_buckets_extended(IBMServiceInstanceId=instance, **page),
            f"of object storage instance {instance}",
        )
        return body
