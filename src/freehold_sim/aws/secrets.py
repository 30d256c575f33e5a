"""Secrets Manager. A deleted secret holds its name until its recovery window is over, or for a moment.

https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html, .../API_DeleteSecret.html
"""

import re
from base64 import b64decode, b64encode
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, not_served, reads, writes
from freehold_sim.aws.paging import BadToken, page
from freehold_sim.aws.tagging import why_not
from freehold_sim.aws.world import Record

KIND = "secret"
_NAME = re.compile(r"[A-Za-z0-9/_+=.@-]{1,512}")
_DAY = 86_400.0
_MOST_PAGE = 100
"""Of ListSecrets: as many as a request can ask for, and without a word."""


def arn_of(call: Call, name: str, suffix: str) -> str:
    """Return the ARN of a secret, which ends with six characters that AWS chooses."""
    return f"arn:{call.partition}:secretsmanager:{call.region}:{call.account}:secret:{name}-{suffix}"


def find(call: Call) -> Record:
    ident = call.params["SecretId"]
    record = call.get(KIND, ident) or call.world.by_arn(ident)
    if record is None or record["account"] != call.account or not call.sees(record):
        raise Refused("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
    return record


def _alive(call: Call) -> Record:
    record = find(call)
    if "DeletedDate" in record["view"]:
        text = "You can't perform this operation on the secret because it was marked for deletion."
        raise Refused("InvalidRequestException", text)
    return record


def _content(call: Call) -> dict[str, str]:
    """Return the value of a request as text; binary as base64, so that it can be saved."""
    both = [name for name in ("SecretString", "SecretBinary") if name in call.params]
    if len(both) > 1:
        raise Refused("InvalidParameterException", "You can't specify both SecretString and SecretBinary")
    return {name: _text(call.params[name]) for name in both}


def _text(value: str | bytes) -> str:
    return b64encode(value).decode() if isinstance(value, bytes) else value


def create_secret(call: Call) -> dict[str, Any]:
    name, token = call.params["Name"], call.params.get("ClientRequestToken") or call.world.new_uuid()
    if not _NAME.fullmatch(name):
        raise Refused("ValidationException", "Invalid name. Must be a valid name containing alphanumeric characters")
    held = call.get(KIND, name)
    if held is not None:
        return _again(call, held, token)
    arn = arn_of(call, name, call.world.new_hex(6))
    view = {"ARN": arn, "Name": name, "CreatedDate": call.now, "LastChangedDate": call.now}
    for key in ("Description", "KmsKeyId"):
        if key in call.params:
            view[key] = call.params[key]
    tags = _tags(call, {}, call.params.get("Tags", []))
    content = _content(call)
    versions = {token: {"content": content, "at": call.now}} if content else {}
    call.add(KIND, name, view, arn, tags=tags, versions=versions, current=token if content else "")
    return {"ARN": arn, "Name": name, **({"VersionId": token} if content else {})}


def _again(call: Call, held: Record, token: str) -> dict[str, Any]:
    """Answer a create whose name is there: the same version with the same content is no new request."""
    if "DeletedDate" in held["view"]:
        text = "You can't create this secret because a secret with this name is already scheduled for deletion."
        raise Refused("InvalidRequestException", text)
    version = held["versions"].get(token)
    if version is None or version["content"] != _content(call):
        text = f"The operation failed because the secret {held['id']} already exists."
        raise Refused("ResourceExistsException", text)
    return {"ARN": held["arn"], "Name": held["id"], "VersionId": token}


def put_value(call: Call) -> dict[str, Any]:
    record, token = _alive(call), call.params.get("ClientRequestToken") or call.world.new_uuid()
    content = _content(call)
    if not content:
        raise Refused("InvalidRequestException", "You must provide either SecretString or SecretBinary.")
    held = record["versions"].get(token)
    if held is not None and held["content"] != content:
        raise Refused("ResourceExistsException", "A version with this token and other content already exists")
    record["versions"].setdefault(token, {"content": content, "at": call.now})
    record["current"] = token
    return {"ARN": record["arn"], "Name": record["id"], "VersionId": token, "VersionStages": ["AWSCURRENT"]}


def get_value(call: Call) -> dict[str, Any]:
    record = _alive(call)
    token = call.params.get("VersionId") or record["current"]
    version = record["versions"].get(token)
    if version is None:
        text = "Secrets Manager can't find the specified secret value for staging label: AWSCURRENT"
        raise Refused("ResourceNotFoundException", text)
    content = {k: b64decode(v) if k == "SecretBinary" else v for k, v in version["content"].items()}
    stages = ["AWSCURRENT"] if token == record["current"] else []
    return {
        "ARN": record["arn"], "Name": record["id"], "VersionId": token, "VersionStages": stages,
        "CreatedDate": version["at"], **content,
    }  # fmt: skip


def describe_secret(call: Call) -> dict[str, Any]:
    record = find(call)
    stages = {token: ["AWSCURRENT"] for token in record["versions"] if token == record["current"]}
    return {**record["view"], "Tags": _listed(record), "VersionIdsToStages": stages}


def delete_secret(call: Call) -> dict[str, Any]:
    """Delete a secret. AWS does it in the background, without a recovery window too: the name stays taken meanwhile."""
    force, days = call.params.get("ForceDeleteWithoutRecovery", False), call.params.get("RecoveryWindowInDays", 30)
    if force and "RecoveryWindowInDays" in call.params:
        text = "You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays."
        raise Refused("InvalidParameterException", text)
    if not 7 <= days <= 30:
        raise Refused("InvalidParameterException", "RecoveryWindowInDays value must be between 7 and 30 days.")
    when = call.now if force else call.now + days * _DAY
    try:
        record = find(call)
    except Refused:
        if force:  # so documented: "does not return ResourceNotFoundException"
            return {"ARN": arn_of(call, call.params["SecretId"], "000000"), "Name": call.params["SecretId"],
                    "DeletionDate": when}  # fmt: skip
        raise
    if force:
        call.world.redirect(record, DeletedDate=when)
        call.world.schedule(call.takes(call.settings.delays.delete_secret), record, None)
    elif "DeletedDate" not in record["view"]:
        record["view"]["DeletedDate"] = when
        call.world.schedule(when, record, None)
    return {"ARN": record["arn"], "Name": record["id"], "DeletionDate": when}


def list_secrets(call: Call) -> dict[str, Any]:
    size = call.params.get("MaxResults", _MOST_PAGE)
    """List secrets. The list is an index: what is new shows in it as late as in the tagging API."""
    rows = [(int(row["serial"]), row) for row in call.all(KIND) if _is_listed(call, row)]
    try:
        shown, more = page(call, sorted(rows, key=lambda row: row[0]), call.params.get("NextToken"), size)
    except BadToken:
        raise Refused("InvalidNextTokenException", "The NextToken value is invalid.") from None
    found = [{**row["view"], "Tags": _listed(row)} for row in shown]
    return {"SecretList": found, **({"NextToken": more} if more else {})}


def _is_listed(call: Call, record: Record) -> bool:
    if "DeletedDate" in record["view"] and not call.params.get("IncludePlannedDeletion"):
        return False
    if call.actor == "api" and record["created_at"] > call.now - call.settings.lags.tagged:
        return False
    return all(_matches(each, record) for each in call.params.get("Filters", []))


def _matches(given: dict[str, Any], record: Record) -> bool:
    """Whether a filter selects a secret: by prefix, and with `!` before it by what is no prefix.

    https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_Filter.html
    """
    key, values = given.get("Key", ""), given.get("Values", [])
    texts: dict[str, list[str]] = {
        "name": [record["id"]], "tag-key": list(record["tags"]), "tag-value": list(record["tags"].values()),
    }  # fmt: skip
    if key not in texts:
        raise not_served(f"the filter {key} of secretsmanager.ListSecrets")
    wanted = [value for value in values if not value.startswith("!")]
    unwanted = [value[1:] for value in values if value.startswith("!")]
    if any(text.startswith(value) for text in texts[key] for value in unwanted):
        return False
    return not wanted or any(text.startswith(value) for text in texts[key] for value in wanted)


def _listed(record: Record) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in record["tags"].items()]


def _tags(call: Call, held: dict[str, str], given: list[dict[str, str]]) -> dict[str, str]:
    tags = dict(held)
    for tag in given:
        if problem := why_not(tag.get("Key", ""), tag.get("Value", "")):
            raise Refused("InvalidParameterException", problem)
        tags[tag["Key"]] = tag.get("Value", "")
    if len(tags) > call.settings.quotas.tags:
        raise Refused("InvalidParameterException", f"A secret has at most {call.settings.quotas.tags} tags")
    return tags


def tag_resource(call: Call) -> dict[str, Any]:
    record = _alive(call)
    call.world.set_tags(record, _tags(call, record["tags"], call.params["Tags"]), call.now)
    return {}


def untag_resource(call: Call) -> dict[str, Any]:
    record = _alive(call)
    kept = {key: value for key, value in record["tags"].items() if key not in call.params["TagKeys"]}
    call.world.set_tags(record, kept, call.now)
    return {}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateSecret", create_secret,
           "Name ClientRequestToken Description KmsKeyId SecretBinary SecretString Tags"),
    writes("PutSecretValue", put_value, "SecretId ClientRequestToken SecretBinary SecretString"),
    reads("GetSecretValue", get_value, "SecretId VersionId"),
    reads("DescribeSecret", describe_secret, "SecretId"),
    writes("DeleteSecret", delete_secret, "SecretId RecoveryWindowInDays ForceDeleteWithoutRecovery"),
    reads("ListSecrets", list_secrets, "MaxResults NextToken IncludePlannedDeletion Filters"),
    writes("TagResource", tag_resource, "SecretId Tags"),
    writes("UntagResource", untag_resource, "SecretId TagKeys"),
)  # fmt: skip
