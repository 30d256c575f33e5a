"""Cloud Object Storage: buckets and small objects over the S3 API, path style.

Source: docs/reference/ibm-cloud.md#object-storage.

Implemented here instead of with moto, because buckets must be part of the world's snapshots.
"""

import hashlib
import re
from xml.sax.saxutils import escape

from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.world import Record

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]")
_LOCATION = re.compile(rb"<LocationConstraint>([^<]*)</LocationConstraint>")
_ACCESS_KEY = re.compile(r"Credential=([^/,]+)/")
_XML = {"Content-Type": "application/xml"}
_UNSERVED_HEADERS = (
    "ibm-sse-kp-", "x-amz-acl", "x-amz-copy-source", "x-amz-grant-", "x-amz-meta-", "x-amz-object-lock",
    "x-amz-server-side-encryption", "x-amz-tagging",
)  # fmt: skip


def _instance(call: Call) -> Record | None:
    """Return the instance of a request, from its HMAC key or its instance header; None without both."""
    if call.actor == "stranger" and "ibm-service-instance-id" not in call.request.headers:
        return None  # of another account
    key = _ACCESS_KEY.search(call.request.headers.get("authorization", ""))
    if key is None:
        named = call.request.headers.get("ibm-service-instance-id", "")
        guid = named.split(":")[7] if named.count(":") >= 9 else named
        return call.world.get("instance", guid)
    for record in call.world.all("resource-key", access_key=key.group(1), state="active"):
        return call.world.get("instance", record["instance"])
    raise errors.cos(403, "InvalidAccessKeyId", "The AWS Access Key ID that you provided does not exist.")


def _speaks_with_key(call: Call) -> bool:
    return call.request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256")


def _bucket(call: Call) -> Record:
    """Return the bucket; 404 if it does not exist, 403 if it belongs to another instance."""
    name = call.params["bucket"]
    record = call.world.get("bucket", name)
    if record is None:
        raise errors.cos(404, "NoSuchBucket", "The specified bucket does not exist.", name)
    speaker = _instance(call)
    owner = call.world.get("instance", record["instance"])
    foreign = record["account"] != call.settings.account_id
    other = speaker is not None and speaker["id"] != record["instance"]
    if foreign or other or (speaker is None and _speaks_with_key(call)):
        raise errors.cos(403, "AccessDenied", "Access Denied", name)
    if owner is not None and owner["state"] != "active":
        raise errors.cos(404, "NoSuchBucket", "The specified bucket does not exist.", name)
    return record


def head_bucket(call: Call) -> Reply:
    """Answer a HEAD request: a status code without a body."""
    try:
        record = _bucket(call)
    except errors.Refused as refused:
        return Reply(refused.status, b"", _XML)
    return Reply(200, b"", {"x-amz-bucket-region": record["location"].rpartition("-")[0]})


def _refuse_unserved_headers(call: Call) -> None:
    """Refuse what a header asks for beyond the bucket or the object itself; it must not be dropped in silence."""
    for name in call.request.headers:
        if name.startswith(_UNSERVED_HEADERS):
            raise call.not_served(f"the header {name}")


def create_bucket(call: Call) -> Reply:
    _refuse_unserved_headers(call)
    name = call.params["bucket"]
    if not _BUCKET.fullmatch(name):
        raise errors.cos(400, "InvalidBucketName", "The specified bucket is not valid.", name)
    speaker = _instance(call)
    if speaker is None and call.actor == "api":
        raise errors.cos(400, "MissingSecurityHeader", "The ibm-service-instance-id header is missing.", name)
    if speaker is not None and speaker["state"] != "active":
        raise errors.cos(403, "AccessDenied", "The service instance is not active.", name)
    if (present := call.world.get("bucket", name)) is not None:
        ours = speaker is not None and present["instance"] == speaker["id"]
        code = "BucketAlreadyOwnedByYou" if ours else "BucketAlreadyExists"
        raise errors.cos(409, code, "The requested bucket name is not available.", name)
    found = _LOCATION.search(call.request.body)
    location = found.group(1).decode() if found else f"{call.params['region']}-standard"
    if location.rpartition("-")[2] not in {"smart", "standard", "vault", "cold"}:
        raise errors.cos(400, "InvalidLocationConstraint", "The location constraint is not valid.", name)
    account = call.settings.account_id if speaker is not None else call.settings.other_account_id
    record: Record = {
        "id": name, "name": name, "instance": speaker["id"] if speaker else "", "account": account,
        "location": location, "state": "active", "objects": {}, "by": call.actor,
        "crn": f"{speaker['crn'][:-2]}:bucket:{name}" if speaker else "",
    }  # fmt: skip
    call.world.add("bucket", call.now, record)
    return Reply(200, b"", {"Location": f"/{name}"})


def delete_bucket(call: Call) -> Reply:
    record = _bucket(call)
    if record["objects"]:
        raise errors.cos(409, "BucketNotEmpty", "The bucket you tried to delete is not empty.", record["name"])
    call.world.remove(record, call.now)
    return Reply(204)


def list_objects(call: Call) -> Reply:
    record = _bucket(call)
    prefix = call.query.get("prefix", "")
    rows = "".join(
        f"<Contents><Key>{escape(key)}</Key><Size>{len(text)}</Size></Contents>"
        for key, text in sorted(record["objects"].items())
        if key.startswith(prefix)
    )
    name = escape(record["name"])
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>{name}</Name>'
        f"<Prefix>{escape(prefix)}</Prefix><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>"
    )
    return Reply(200, text.encode(), _XML)


def list_buckets(call: Call) -> Reply:
    """List the buckets of an instance in all regions; with `extended`, page by page and with their locations."""
    speaker = _instance(call)
    if speaker is None and "ibm-service-instance-id" not in call.request.headers:
        raise errors.cos(400, "InvalidArgument", "Invalid Argument")  # ibm-cos-sdk-python#38
    if speaker is None or speaker["state"] != "active":
        raise errors.cos(403, "AccessDenied", "Access Denied")
    held = sorted(call.listed(call.world.all("bucket", instance=speaker["id"])), key=lambda r: str(r["name"]))
    extended = "extended" in call.query
    most = call.settings.page_size if extended and call.settings.page_size else len(held)
    rest = [r for r in held if r["name"] > call.query.get("marker", "")]
    rows = "".join(
        f"<Bucket><Name>{escape(r['name'])}</Name><CreationDate>{iso(r['created_at'])}</CreationDate>"
        + (f"<LocationConstraint>{r['location']}</LocationConstraint>" if extended else "")
        + "</Bucket>"
        for r in rest[:most]
    )
    more = f"<IsTruncated>{str(len(rest) > most).lower()}</IsTruncated>" if extended else ""
    text = f"<ListAllMyBucketsResult>{more}<Buckets>{rows}</Buckets></ListAllMyBucketsResult>"
    return Reply(200, text.encode(), _XML)


def _etag(content: str) -> str:
    return f'"{hashlib.md5(content.encode("latin-1"), usedforsecurity=False).hexdigest()}"'


def put_object(call: Call) -> Reply:
    _refuse_unserved_headers(call)
    content = call.request.body.decode("latin-1")
    _bucket(call)["objects"][call.params["key"]] = content
    return Reply(200, b"", {"ETag": _etag(content)})


def get_object(call: Call) -> Reply:
    content = _bucket(call)["objects"].get(call.params["key"])
    if content is None:
        raise errors.cos(404, "NoSuchKey", "The specified key does not exist.", call.params["key"])
    headers = {"ETag": _etag(content), "Content-Type": "binary/octet-stream"}
    if call.request.method == "HEAD":
        return Reply(200, b"", {**headers, "Content-Length": str(len(content))})
    return Reply(200, content.encode("latin-1"), headers)


def delete_object(call: Call) -> Reply:
    _bucket(call)["objects"].pop(call.params["key"], None)
    return Reply(204)


_COS = "/cos/{region}"
ROUTES = (
    reads("GET", _COS, "cos.list_buckets", list_buckets, query="extended marker"),
    reads("HEAD", _COS + "/{bucket}", "cos.head_bucket", head_bucket),
    writes("PUT", _COS + "/{bucket}", "cos.create_bucket", create_bucket),
    writes("DELETE", _COS + "/{bucket}", "cos.delete_bucket", delete_bucket),
    reads("GET", _COS + "/{bucket}", "cos.list_objects", list_objects, query="prefix encoding-type list-type"),
    writes("PUT", _COS + "/{bucket}/{key*}", "cos.put_object", put_object),
    reads("GET", _COS + "/{bucket}/{key*}", "cos.get_object", get_object),
    reads("HEAD", _COS + "/{bucket}/{key*}", "cos.head_object", get_object),
    writes("DELETE", _COS + "/{bucket}/{key*}", "cos.delete_object", delete_object),
)
