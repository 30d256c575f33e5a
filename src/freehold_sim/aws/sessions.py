"""Access keys: an administrator's, or those of a role session with its policies."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from freehold_sim.aws import policies
from freehold_sim.aws.call import Refused
from freehold_sim.aws.credentials import Principal, Scope, administrator
from freehold_sim.aws.errors import CODES
from freehold_sim.aws.settings import Settings
from freehold_sim.aws.world import World, scope_of

EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
MANAGED = {
    "arn:aws:iam::aws:policy/AdministratorAccess": EVERYTHING,
    "arn:aws:iam::aws:policy/PowerUserAccess": {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "NotAction": ["iam:*", "organizations:*", "account:*"], "Resource": "*"}],
    },
}
"""Managed policies of AWS whose content is known here; any other one allows nothing."""


def principal_of(world: World, settings: Settings, scope: Scope, service: str, wall: float) -> Principal:
    """Return who signed a request; refuses unknown keys, wrong session tokens and sessions that have ended."""
    if (account := settings.access_keys.get(scope.access_key)) is not None:
        return administrator(account)
    session = world.data["sessions"].get(scope.access_key)
    codes = CODES[service]
    if session is None or session["token"] != scope.session_token:
        raise Refused(codes.bad_key[0], "The security token included in the request is invalid.", codes.bad_key[1])
    if session["expires"] <= wall:
        raise Refused(codes.expired[0], "The security token included in the request is expired", codes.expired[1])
    granted = role_policies(world, session["account"], session["role"])
    return Principal(session["account"], session["arn"], session["user_id"], granted, _session_policies(world, session))


def role_policies(world: World, account: str, name: str) -> tuple[dict[str, Any], ...]:
    """Return the policies of a role, none of one that has gone."""
    role = world.table(scope_of(account, ""), "role").get(name)
    if role is None:
        return ()
    return (*map(policies.parse, role["inline"].values()), *_managed(world, role["attached"]))


def _session_policies(world: World, session: dict[str, Any]) -> tuple[dict[str, Any], ...] | None:
    """The inline one and the managed ones together, None for a session that was given neither."""
    inline = [policies.parse(session["policy"])] if session["policy"] else []
    arns = session.get("policy_arns", ())  # a state that was saved by an older version has none
    return (*inline, *_managed(world, arns)) if inline or arns else None


def _managed(world: World, arns: Iterable[str]) -> Iterator[dict[str, Any]]:
    for arn in arns:
        if arn in MANAGED:
            yield json.loads(json.dumps(MANAGED[arn]))
        elif (own := world.by_arn(arn)) is not None:
            yield policies.parse(own["document"])
