"""STS: role sessions with a session policy, and who calls. Sessions end by the machine's clock, as SDKs expect.

https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
"""

from collections.abc import Sequence
from typing import Any

from freehold_sim.aws import policies
from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.world import Record, scope_of

_LEAST, _MOST_POLICY = 900, 2048


def caller(call: Call) -> dict[str, Any]:
    who = call.principal
    return {"UserId": who.user_id, "Account": who.account, "Arn": who.arn}


def assume_role(call: Call) -> dict[str, Any]:
    params = call.params
    arn, name, seconds = params["RoleArn"], params["RoleSessionName"], params.get("DurationSeconds", 3600)
    account, _, role_name = arn.removeprefix("arn:aws:iam::").partition(":role/")
    role = call.world.table(scope_of(account, ""), "role").get(role_name.rpartition("/")[2])
    if role is None or role["arn"] != arn or not _trusts(call, role):
        text = f"User: {call.principal.arn} is not authorized to perform: sts:AssumeRole on resource: {arn}"
        raise Refused("AccessDenied", text, 403)
    if not _LEAST <= seconds <= role["view"]["MaxSessionDuration"]:
        text = "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
        raise Refused("ValidationError", text)
    policy, arns = params.get("Policy", ""), [each["arn"] for each in params.get("PolicyArns", [])]
    _check(policy, arns, call.settings.assumptions.packed_policy_characters)
    key, token, secret = f"ASIA{call.world.new_hex(16).upper()}", call.world.new_hex(40), call.world.new_hex(40)
    session = {
        "account": account, "role": role["id"], "token": token, "expires": call.wall + seconds, "policy": policy,
        "policy_arns": arns, "arn": f"arn:aws:sts::{account}:assumed-role/{role['id']}/{name}",
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


def _trusts(call: Call, role: Record) -> bool:
    """Whether the role's trust policy lets itself be assumed so; who asks is not compared with its principals."""
    given = call.params.get("ExternalId")
    context = {"sts:externalid": [given]} if given is not None else {}
    return (
        policies.decide(policies.parse(role["view"]["AssumeRolePolicyDocument"]), "sts:AssumeRole", "*", context)
        == "Allow"
    )


def _check(policy: str, arns: Sequence[str], packed: int) -> None:
    """Check the limit of the inline policy and the managed ones together; of these the request has the ARNs."""
    size = len(policy) + sum(map(len, arns))
    if size > _MOST_POLICY:
        raise Refused("PackedPolicyTooLarge", f"The session policies are longer than {_MOST_POLICY} characters")
    if size > packed:
        share = f"{size * 100 // packed}% of allotted space"
        raise Refused("PackedPolicyTooLarge", f"Packed policy consumes {share}, please use smaller policy.")
    try:
        if policy:
            policies.parse(policy)
    except ValueError as bad:
        raise Refused("MalformedPolicyDocument", f"The policy is malformed: {bad}") from None


OPERATIONS: tuple[Operation, ...] = (
    reads("GetCallerIdentity", caller),
    writes("AssumeRole", assume_role, "RoleArn RoleSessionName DurationSeconds Policy PolicyArns.arn ExternalId"),
)
