"""What the resources of IAM share: names, tags, missing ones, pages."""

import re
from collections.abc import Mapping
from typing import Any

from freehold_sim.aws import policies
from freehold_sim.aws.call import Call, Refused
from freehold_sim.aws.paging import BadToken, page
from freehold_sim.aws.tagging import why_not_common
from freehold_sim.aws.world import Record

ROLE, PROFILE, POLICY = "role", "instance-profile", "policy"
OIDC_PROVIDER = "oidc-provider"
_NAME = re.compile(r"[\w+=,.@-]+", re.ASCII)


def check_name(name: str, parameter: str) -> None:
    if not _NAME.fullmatch(name):
        text = f"The specified value for {parameter} is invalid. It must contain only alphanumeric characters and"
        raise Refused("ValidationError", f"{text} the following: +=,.@_-")


def find(call: Call, kind: str, name: str) -> Record:
    """Return the resource with this name, or refuse as IAM does."""
    record = call.get(kind, name)
    if record is None:
        noun = {ROLE: "role with name", PROFILE: "Instance Profile", POLICY: "Policy"}[kind]
        raise Refused("NoSuchEntity", f"The {noun} {name} cannot be found.", 404)
    return record


def is_policy(call: Call, arn: str) -> bool:
    """Whether there is such a managed policy: of the account, or any of AWS's."""
    if arn.startswith("arn:aws:iam::aws:policy/"):
        return True
    found = call.world.by_arn(arn)
    return found is not None and found["kind"] == POLICY and found["account"] == call.account


def exists(kind: str, name: str) -> Refused:
    return Refused("EntityAlreadyExists", f"{kind} with name {name} already exists.", 409)


def conflict(text: str) -> Refused:
    return Refused("DeleteConflict", text, 409)


def tags_of(call: Call, held: Mapping[str, str], given: list[dict[str, str]]) -> dict[str, str]:
    """Return the tags that a resource has after those of a request; keys of IAM differ in more than case."""
    tags = dict(held)
    folded = [tag["Key"].lower() for tag in given]
    if len(set(folded)) < len(folded):
        raise Refused("InvalidInput", "Duplicate tag keys found. Please note that Tag keys are case insensitive.")
    for tag in given:
        if problem := why_not_common(tag["Key"], tag["Value"]):
            raise Refused("InvalidInput", problem)
        same = next((key for key in tags if key.lower() == tag["Key"].lower()), None)
        if same is not None:
            del tags[same]
        tags[tag["Key"]] = tag["Value"]
    if len(tags) > call.settings.quotas.tags:
        raise Refused("LimitExceeded", f"Cannot exceed quota for TagsPerResource: {call.settings.quotas.tags}", 409)
    return tags


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def check_document(text: str) -> None:
    try:
        policies.parse(text)
    except ValueError as bad:
        raise Refused("MalformedPolicyDocument", f"The policy is malformed: {bad}") from None


def listed(call: Call, key: str, rows: list[Any]) -> dict[str, Any]:
    """Return the reply with the page that Marker and MaxItems select."""
    try:
        found, more = page(call, list(enumerate(rows, 1)), call.params.get("Marker"), call.params.get("MaxItems"))
    except BadToken:
        raise Refused("ValidationError", "Invalid Marker") from None
    return {key: found, "IsTruncated": bool(more), **({"Marker": more} if more else {})}
