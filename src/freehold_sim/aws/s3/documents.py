"""What belongs to a bucket as a whole: tags, policy, lifecycle, public access, encryption, versioning."""

import json
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, not_served, reads, writes
from freehold_sim.aws.s3.buckets import find, tags_of

_CHECKSUMS = "ContentMD5 ChecksumAlgorithm ExpectedBucketOwner"
"""Checksums are taken and not checked: the transport of a simulator does not corrupt."""


def put_tags(call: Call) -> dict[str, Any]:
    bucket = find(call)
    call.world.set_tags(bucket, tags_of(call, call.params["Tagging"]["TagSet"]), call.now)
    return {}


def get_tags(call: Call) -> dict[str, Any]:
    tags = find(call)["tags"]
    if not tags:
        raise Refused("NoSuchTagSet", "The TagSet does not exist", 404)
    return {"TagSet": [{"Key": key, "Value": value} for key, value in tags.items()]}


def delete_tags(call: Call) -> dict[str, Any]:
    call.world.set_tags(find(call), {}, call.now)
    return {}


def _put(name: str, call: Call) -> dict[str, Any]:
    value = call.params[name]
    if name == "Policy":
        try:
            json.loads(value)
        except ValueError:
            raise Refused("MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'") from None
    find(call)["documents"][name] = value
    return {}


def _get(name: str, missing: str, call: Call) -> Any:
    documents = find(call)["documents"]
    if name not in documents:
        raise Refused(missing, f"The bucket has no {name}", 404)
    return documents[name]


def _delete(name: str, call: Call) -> dict[str, Any]:
    find(call)["documents"].pop(name, None)
    return {}


def put_versioning(call: Call) -> dict[str, Any]:
    if call.params["VersioningConfiguration"].get("Status") == "Enabled":
        raise not_served("versions of objects")
    find(call)
    return {}


def get_versioning(call: Call) -> dict[str, Any]:
    find(call)
    return {}


_LIFECYCLE, _ENCRYPTION = "LifecycleConfiguration", "ServerSideEncryptionConfiguration"
_ACCESS = "PublicAccessBlockConfiguration"
OPERATIONS: tuple[Operation, ...] = (
    writes("PutBucketTagging", put_tags, f"Bucket Tagging {_CHECKSUMS}"),
    reads("GetBucketTagging", get_tags, "Bucket ExpectedBucketOwner"),
    writes("DeleteBucketTagging", delete_tags, "Bucket ExpectedBucketOwner"),
    writes("PutBucketPolicy", lambda call: _put("Policy", call), f"Bucket Policy {_CHECKSUMS}"),
    reads("GetBucketPolicy", lambda call: {"Policy": _get("Policy", "NoSuchBucketPolicy", call)}, "Bucket"),
    writes("DeleteBucketPolicy", lambda call: _delete("Policy", call), "Bucket"),
    writes("PutBucketLifecycleConfiguration", lambda call: _put(_LIFECYCLE, call),
           f"Bucket {_LIFECYCLE} ChecksumAlgorithm ExpectedBucketOwner"),
    reads("GetBucketLifecycleConfiguration",
          lambda call: {"Rules": _get(_LIFECYCLE, "NoSuchLifecycleConfiguration", call)["Rules"]}, "Bucket"),
    writes("DeleteBucketLifecycle", lambda call: _delete(_LIFECYCLE, call), "Bucket"),
    writes("PutPublicAccessBlock", lambda call: _put(_ACCESS, call), f"Bucket {_ACCESS} {_CHECKSUMS}"),
    reads("GetPublicAccessBlock",
          lambda call: {_ACCESS: _get(_ACCESS, "NoSuchPublicAccessBlockConfiguration", call)}, "Bucket"),
    writes("PutBucketEncryption", lambda call: _put(_ENCRYPTION, call), f"Bucket {_ENCRYPTION} {_CHECKSUMS}"),
    reads("GetBucketEncryption",
          lambda call: {_ENCRYPTION: _get(_ENCRYPTION, "ServerSideEncryptionConfigurationNotFoundError", call)},
          "Bucket"),
    writes("PutBucketVersioning", put_versioning, f"Bucket VersioningConfiguration {_CHECKSUMS}"),
    reads("GetBucketVersioning", get_versioning, "Bucket ExpectedBucketOwner"),
)  # fmt: skip
