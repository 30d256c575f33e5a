"""One fleet of volumes for the controller and for its peer on a bare moto, and what is to be left of it."""

from __future__ import annotations

from typing import Any

REGION, CLASSIFIER, CHOSEN = "us-east-1", "team-of", "a"
WANTED = {"env": "test", "centre": "eng"}
COUNT, WITH_CLASSIFIER = 60, 50
Fleet = dict[str, dict[str, str]]


def make(ec2: Any) -> None:
    """Some have values of somebody else under the keys, one has the wanted ones already, some are not chosen."""
    for number in range(COUNT):
        if number < WITH_CLASSIFIER:
            tags = {CLASSIFIER: CHOSEN, "Name": f"volume-{number}", **({"env": "theirs"} if number < 5 else {})}
        else:
            tags = {CLASSIFIER: "b", "env": "theirs"}
        if number == 7:
            tags |= WANTED
        rows = [{"Key": key, "Value": value} for key, value in tags.items()]
        specification = [{"ResourceType": "volume", "Tags": rows}]
        ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1, TagSpecifications=specification)


def tags_of(ec2: Any) -> Fleet:
    """By id."""
    rows = (row for page in ec2.get_paginator("describe_volumes").paginate() for row in page["Volumes"])
    return {row["VolumeId"]: {tag["Key"]: tag["Value"] for tag in row.get("Tags", [])} for row in rows}


def left_of(before: Fleet, *, tagged: bool) -> Fleet:
    """What the peer's policies are documented to leave: `tag` adds keys over any value, `remove-tag` takes them off."""
    after: Fleet = {}
    for ident, tags in before.items():
        chosen = tags[CLASSIFIER] == CHOSEN
        kept = {key: value for key, value in tags.items() if not (chosen and key in WANTED)}
        after[ident] = {**kept, **(WANTED if chosen and tagged else {})}
    return after
