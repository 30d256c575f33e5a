"""Tags as all services check them: lengths, characters that are reserved, how many.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions
"""

from collections.abc import Iterable, Mapping
from typing import Any
from unicodedata import category

from freehold_sim.aws.call import Call, Refused

MOST_KEY, MOST_VALUE = 128, 256
MUST_NOT_BE_RESERVED = "Tag keys starting with 'aws:' are reserved for internal use"


def checked_tags(call: Call, given: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return a list of EC2 tags as a mapping, or refuse it as EC2 does."""
    tags: dict[str, str] = {}
    for tag in given:
        key, value = tag.get("Key"), tag.get("Value", "")
        if key is None:
            raise Refused("MissingParameter", "The request must contain the parameter Tag.Key")
        if problem := why_not(key, value):
            raise Refused("InvalidParameterValue", problem)
        if key in tags:
            raise Refused("InvalidParameterValue", f"Duplicate tag keys found. Please note that Tag keys are: {key}")
        tags[key] = value
    if len(tags) > call.settings.quotas.tags:
        raise too_many(call)
    return tags


def why_not(key: str, value: str = "") -> str:
    """Return what is wrong with a tag, "" if nothing is."""
    if not key:
        return "Tag key cannot be empty"
    if len(key) > MOST_KEY:
        return f"Tag key exceeds the maximum length of {MOST_KEY} characters"
    if len(value) > MOST_VALUE:
        return f"Tag value exceeds the maximum length of {MOST_VALUE} characters"
    if key.lower().startswith("aws:"):
        return f"{MUST_NOT_BE_RESERVED}: {key}"
    return ""


def why_not_common(key: str, value: str = "") -> str:
    """Return what is wrong with a tag where a service states the characters of a tag, and reserves values too.

    Elastic Load Balancing and IAM do so, in their service models and guides; EC2 takes any character:
    https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_Tag.html
    https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-tags.html
    https://docs.aws.amazon.com/IAM/latest/UserGuide/id_tags.html
    """
    if problem := why_not(key, value):
        return problem
    if value.lower().startswith("aws:"):
        return f"Tag values starting with 'aws:' are reserved for internal use: {value}"
    illegal = [each for each in key + value if each not in "_.:/=+-@" and category(each)[0] not in "LZN"]
    return f"A tag cannot have the character {illegal[0]!a}" if illegal else ""


def too_many(call: Call) -> Refused:
    return Refused("TagLimitExceeded", f"The maximum number of tags is {call.settings.quotas.tags} for a resource")
