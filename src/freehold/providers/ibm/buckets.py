"""Buckets of an object storage instance, over the S3 API (docs/reference/ibm-cloud.md#object-storage)."""

from __future__ import annotations

from typing import Any

from freehold.engine.errors import Denied
from freehold.providers.ibm import errors
from freehold.providers.ibm.calls import IbmClient, require_rows
from freehold.providers.ibm.resource_controller import COS, Instances

LIST_REGION = "us-south"
"""The region of lists: any endpoint lists an instance's buckets of every region."""
CLASS = "smart"
"""The storage class that CAPIBM uses."""


def join_id(instance: str, region: str, name: str) -> str:
    """Return the engine's id. Its last component, ``<region>.<name>``, is what the carrier's mark names."""
    return f"{instance}/{region}.{name}"


def split_id(engine_id: str) -> tuple[str, str, str]:
    """Return instance guid, region and name. No region has a dot in its name."""
    instance, _, rest = engine_id.partition("/")
    region, _, name = rest.partition(".")
    return instance, region, name


class Buckets:
    """The operations on buckets that we need."""

    def __init__(self, client: IbmClient) -> None:
        self._client = client
        self._instances = Instances(client, COS)

    async def list_buckets(self, instance: str) -> dict[str, str]:
        """Return name and region of an instance's buckets; none if the instance is gone, when S3 refuses the list."""
        try:
            return await self._list_all_pages(instance)
        except (Denied, errors.ListNotFound):
            if await self._instances.get(instance) is not None:
                raise
            return {}

    async def _list_all_pages(self, instance: str) -> dict[str, str]:
        """Return name and region of all buckets, from all pages."""
        found: dict[str, str] = {}
        marker, seen = "", set[str]()
        while marker not in seen:
            seen.add(marker)
            body = await self._read_page(instance, marker)
            page = require_rows(body, "Buckets", "list_buckets", f"of object storage instance {instance}")
            found |= {row["Name"]: str(row.get("LocationConstraint", "")).rpartition("-")[0] for row in page}
            if not body.get("IsTruncated") or not page:
                return found
            marker = str(body.get("NextMarker") or page[-1]["Name"])
        raise errors.endless_list_error("list_buckets", f"of object storage instance {instance}")

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

    async def _read_page(self, instance: str, marker: str) -> dict[str, Any]:
        page = {"Marker": marker} if marker else {}
        body: dict[str, Any] = await self._client.read_page(
            "cos",
            "list_buckets",
            lambda: self._client.session.cos(LIST_REGION).list_buckets_extended(IBMServiceInstanceId=instance, **page),
            f"of object storage instance {instance}",
        )
        return body
