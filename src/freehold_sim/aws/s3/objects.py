"""Small objects, kept whole, without versions."""

import hashlib
from typing import Any
from urllib.parse import quote

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.paging import BadToken, page
from freehold_sim.aws.s3.buckets import find
from freehold_sim.aws.world import Record


def put_object(call: Call) -> dict[str, Any]:
    body = call.params.get("Body", b"")
    etag = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
    kept = {
        "body": body.decode("latin-1"), "etag": etag, "at": call.now,
        "type": call.params.get("ContentType", "binary/octet-stream"), "metadata": call.params.get("Metadata", {}),
        "encoding": call.params.get("ContentEncoding", "").removeprefix("aws-chunked").strip(","),
    }  # fmt: skip
    find(call)["objects"][call.params["Key"]] = kept
    return {"ETag": etag}


def _object(call: Call) -> dict[str, Any]:
    bucket: Record = find(call)
    held: dict[str, Any] | None = bucket["objects"].get(call.params["Key"])
    if held is None:
        raise Refused("NoSuchKey", "The specified key does not exist.", 404)
    return held


def head_object(call: Call) -> dict[str, Any]:
    held = _object(call)
    return {
        "ContentLength": len(held["body"]), "ETag": held["etag"], "LastModified": held["at"],
        "ContentType": held["type"], "Metadata": held["metadata"],
        **({"ContentEncoding": held["encoding"]} if held["encoding"] else {}),
    }  # fmt: skip


def get_object(call: Call) -> dict[str, Any]:
    return {**head_object(call), "Body": _object(call)["body"].encode("latin-1")}


def delete_object(call: Call) -> dict[str, Any]:
    """Delete an object; one that does not exist counts as deleted."""
    find(call)["objects"].pop(call.params["Key"], None)
    return {}


def list_objects(call: Call) -> dict[str, Any]:
    params, bucket = call.params, find(call)
    prefix, most = params.get("Prefix", ""), params.get("MaxKeys", 1000)
    keys = sorted(key for key in bucket["objects"] if key.startswith(prefix))
    try:
        found, more = page(call, list(enumerate(keys, 1)), params.get("ContinuationToken"), min(most, 1000))
    except BadToken:
        raise Refused("InvalidArgument", "The continuation token provided is incorrect") from None
    coded = "EncodingType" in params
    rows = [
        {
            "Key": quote(key) if coded else key,
            "LastModified": bucket["objects"][key]["at"],
            "ETag": bucket["objects"][key]["etag"],
            "Size": len(bucket["objects"][key]["body"]),
            "StorageClass": "STANDARD",
        }
        for key in found
    ]
    reply = {"Name": bucket["id"], "Prefix": prefix, "MaxKeys": most, "KeyCount": len(rows), "IsTruncated": bool(more)}
    if coded:
        reply["EncodingType"] = params["EncodingType"]
    return {**reply, "Contents": rows, **({"NextContinuationToken": more} if more else {})}


_CHECKSUMS = "ContentMD5 ChecksumAlgorithm ChecksumCRC32 ChecksumCRC32C ChecksumCRC64NVME ChecksumSHA1 ChecksumSHA256"
OPERATIONS: tuple[Operation, ...] = (
    writes("PutObject", put_object, f"Bucket Key Body ContentType ContentLength ContentEncoding Metadata {_CHECKSUMS}"),
    reads("GetObject", get_object, "Bucket Key ChecksumMode ExpectedBucketOwner"),
    reads("HeadObject", head_object, "Bucket Key ChecksumMode ExpectedBucketOwner"),
    writes("DeleteObject", delete_object, "Bucket Key ExpectedBucketOwner"),
    reads("ListObjectsV2", list_objects, "Bucket Prefix MaxKeys ContinuationToken EncodingType ExpectedBucketOwner"),
)
