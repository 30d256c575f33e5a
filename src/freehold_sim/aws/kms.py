"""Keys of KMS, as far as other services ask for them: that they are there. KMS itself is not served."""

from freehold_sim.aws.call import Call
from freehold_sim.aws.world import Record

KEY = "kms-key"


def make(call: Call, alias: str = "") -> Record:
    """Create a symmetric key; `alias` is a name without ``alias/``."""
    ident = call.world.new_uuid()
    arn = f"arn:{call.partition}:kms:{call.region}:{call.account}:key/{ident}"
    aliases = [f"arn:{call.partition}:kms:{call.region}:{call.account}:alias/{alias}"] if alias else []
    return call.add(KEY, ident, {"KeyId": ident, "KeyState": "Enabled"}, arn, aliases=aliases)


def usable(call: Call, arn: str) -> Record | None:
    """Return the key of the call's region that has this ARN or alias, unless it is disabled."""
    keys = [row for row in call.all(KEY) if arn == row["arn"] or arn in row["aliases"]]
    return next((key for key in keys if key["view"]["KeyState"] == "Enabled"), None)
