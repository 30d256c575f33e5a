"""STS: role sessions with a session policy, and who calls. Sessions end by the machine's clock, as SDKs expect.

Roles of service accounts are in web_identity.py.

https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
"""

from collections.abc import Sequence
from typing import Any

from freehold_sim.aws import policies, web_identity
from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.role_sessions import begin_session, check_duration
from freehold_sim.aws.world import Record, scope_of

_MOST_POLICY = 2048


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
    check_duration(role, seconds)
    policy, arns = params.get("Policy", ""), [each["arn"] for each in params.get("PolicyArns", [])]
    _check(policy, arns, call.settings.assumptions.packed_policy_characters)
    return begin_session(call, role, account, name, seconds, policy, arns)


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
    writes(web_identity.ACTION, web_identity.assume_role, "RoleArn RoleSessionName WebIdentityToken DurationSeconds"),
)
