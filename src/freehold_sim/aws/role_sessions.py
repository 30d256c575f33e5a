"""Sessions of roles: how long they may last, and their temporary keys."""

from collections.abc import Sequence
from typing import Any

from freehold_sim.aws.call import Call, Refused
from freehold_sim.aws.world import Record

_LEAST = 900


def check_duration(role: Record, seconds: int) -> None:
    if not _LEAST <= seconds <= role["view"]["MaxSessionDuration"]:
        text = "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
        raise Refused("ValidationError", text)


def begin_session(
    call: Call, role: Record, account: str, name: str, seconds: int, policy: str = "", arns: Sequence[str] = ()
) -> dict[str, Any]:
    """Begin a session of a role. Returns its keys and who it is, as the replies of STS have them."""
    key, token, secret = f"ASIA{call.world.new_hex(16).upper()}", call.world.new_hex(40), call.world.new_hex(40)
    session = {
        "account": account, "role": role["id"], "token": token, "expires": call.wall + seconds, "policy": policy,
        "policy_arns": list(arns), "arn": f"arn:aws:sts::{account}:assumed-role/{role['id']}/{name}",
        "user_id": f"{role['view']['RoleId']}:{name}",
        "secret": secret,
    }  # fmt: skip
    call.world.data["sessions"][key] = session
    credentials = {
        "AccessKeyId": key, "SecretAccessKey": secret, "SessionToken": token,
        "Expiration": session["expires"],
    }  # fmt: skip
    user = {"AssumedRoleId": session["user_id"], "Arn": session["arn"]}
    return {"Credentials": credentials, "AssumedRoleUser": user}
