"""Keys of KMS, as far as others ask for them: that they are there and can be used. Nothing is encrypted."""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads
from freehold_sim.aws.world import Record

KEY = "kms-key"


def make(call: Call, alias: str = "") -> Record:
    """Create a symmetric key; `alias` is a name without ``alias/``."""
    ident = call.world.new_uuid()
    arn = f"arn:{call.partition}:kms:{call.region}:{call.account}:key/{ident}"
    aliases = [f"arn:{call.partition}:kms:{call.region}:{call.account}:alias/{alias}"] if alias else []
    return call.add(KEY, ident, {"KeyId": ident, "KeyState": "Enabled"}, arn, aliases=aliases)


def describe(call: Call) -> dict[str, Any]:
    """Describe a key by its id, its ARN, or an alias.

    https://docs.aws.amazon.com/kms/latest/APIReference/API_DescribeKey.html
    """
    asked = call.params["KeyId"]
    key = next((row for row in call.all(KEY) if asked in _names_of(row)), None)
    if key is None:
        raise Refused("NotFoundException", f"Key '{asked}' does not exist")
    state = key["view"]["KeyState"]
    shown = {
        **key["view"], "Arn": key["arn"], "AWSAccountId": key["account"], "Enabled": state == "Enabled",
        "KeyUsage": "ENCRYPT_DECRYPT", "KeySpec": "SYMMETRIC_DEFAULT", "KeyManager": "CUSTOMER", "Origin": "AWS_KMS",
    }  # fmt: skip
    return {"KeyMetadata": shown}


def _names_of(key: Record) -> list[str]:
    return [key["id"], key["arn"], *key["aliases"], *(each.rpartition(":")[2] for each in key["aliases"])]


def usable(call: Call, arn: str) -> Record | None:
    """Return the key of the call's region that has this ARN or alias, unless it is disabled."""
    keys = [row for row in call.all(KEY) if arn == row["arn"] or arn in row["aliases"]]
    return next((key for key in keys if key["view"]["KeyState"] == "Enabled"), None)


OPERATIONS: tuple[Operation, ...] = (reads("DescribeKey", describe, "KeyId"),)
