"""Buckets. Names are shared by all accounts and regions.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html
"""

import re
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.ec2.kinds import full
from freehold_sim.aws.tagging import why_not
from freehold_sim.aws.world import Record

KIND = "bucket"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_HOME = "us-east-1"


def anywhere(call: Call, name: str) -> Record | None:
    """Return the bucket of this name, in any account and region."""
    for kinds in call.world.data["resources"].values():
        if name in kinds.get(KIND, {}):
            record: Record = kinds[KIND][name]
            return record
    return None


def find(call: Call) -> Record:
    """Return the bucket of a request, or refuse as S3 does: missing, another account's, or in another region."""
    name = call.params["Bucket"]
    record = anywhere(call, name)
    if record is None:
        raise Refused("NoSuchBucket", "The specified bucket does not exist", 404)
    if record["account"] != call.account:
        raise Refused("AccessDenied", "Access Denied", 403)
    if call.params.get("ExpectedBucketOwner", call.account) != record["account"]:
        raise Refused("AccessDenied", "Access Denied", 403)
    if record["region"] != call.region:
        text = "The bucket you are attempting to access must be addressed using the specified endpoint."
        raise Refused("PermanentRedirect", text, 301, {"x-amz-bucket-region": record["region"]})
    return record


def create_bucket(call: Call) -> dict[str, Any]:
    params, name = call.params, call.params["Bucket"]
    configuration = params.get("CreateBucketConfiguration", {})
    constraint = configuration.get("LocationConstraint", _HOME)
    if constraint != call.region:
        text = f"The {constraint} location constraint is incompatible for the region specific endpoint"
        raise Refused("IllegalLocationConstraintException", f"{text} this request was sent to.")
    if not _NAME.fullmatch(name):
        raise Refused("InvalidBucketName", "The specified bucket is not valid.")
    held = anywhere(call, name)
    if held is not None:
        return _again(call, held, name)
    full(call, len(_all(call)), call.settings.quotas.buckets, "buckets")
    tags = tags_of(call, configuration.get("Tags", []))
    arn = f"arn:{call.partition}:s3:::{name}"
    view = {"Name": name, "CreationDate": call.now}
    call.add(KIND, name, view, arn, tags=tags, objects={}, documents={})
    return {"Location": f"/{name}"}


def _again(call: Call, held: Record, name: str) -> dict[str, Any]:
    if held["account"] != call.account:
        text = "The requested bucket name is not available. The bucket namespace is shared by all users of the system."
        raise Refused("BucketAlreadyExists", text, 409)
    if call.region == _HOME and held["region"] == _HOME:
        return {"Location": f"/{name}"}  # us-east-1 answers 200 for a bucket of one's own
    raise Refused("BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded.", 409)


def tags_of(call: Call, given: list[dict[str, str]]) -> dict[str, str]:
    tags: dict[str, str] = {}
    for tag in given:
        if (problem := why_not(tag["Key"], tag["Value"])) or tag["Key"] in tags:
            raise Refused("InvalidTag", problem or "Cannot provide multiple Tags with the same key")
        tags[tag["Key"]] = tag["Value"]
    if len(tags) > call.settings.quotas.tags:
        raise Refused("BadRequest", f"Object tags cannot be greater than {call.settings.quotas.tags}")
    return tags


def _all(call: Call) -> list[Record]:
    scopes = call.world.data["resources"].items()
    rows = [row for scope, kinds in scopes if scope.startswith(call.account) for row in kinds.get(KIND, {}).values()]
    return sorted(rows, key=lambda row: str(row["id"]))


def list_buckets(call: Call) -> dict[str, Any]:
    owner = {"DisplayName": "owner", "ID": call.account}
    return {"Buckets": [row["view"] for row in _all(call)], "Owner": owner}


def head_bucket(call: Call) -> dict[str, Any]:
    return {"BucketRegion": find(call)["region"]}


def get_location(call: Call) -> dict[str, Any]:
    region = find(call)["region"]
    return {} if region == _HOME else {"LocationConstraint": region}


def delete_bucket(call: Call) -> dict[str, Any]:
    bucket = find(call)
    if bucket["objects"]:
        raise Refused("BucketNotEmpty", "The bucket you tried to delete is not empty", 409)
    call.world.remove(bucket, call.now)
    return {}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateBucket", create_bucket,
           "Bucket CreateBucketConfiguration.LocationConstraint CreateBucketConfiguration.Tags"),
    reads("ListBuckets", list_buckets),
    reads("HeadBucket", head_bucket, "Bucket ExpectedBucketOwner"),
    reads("GetBucketLocation", get_location, "Bucket ExpectedBucketOwner"),
    writes("DeleteBucket", delete_bucket, "Bucket ExpectedBucketOwner"),
)  # fmt: skip
