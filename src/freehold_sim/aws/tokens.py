"""Client tokens: a create that is sent again returns what the first one made; with other parameters it is refused.

https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from freehold_sim.aws.call import Call, Refused, Token


def idempotent(call: Call, token: Token, handler: Callable[[Call], dict[str, Any]]) -> dict[str, Any]:
    """Run a create under its client token."""
    given = call.params.get(token.parameter)
    if given is None:
        return handler(call)
    tokens, key = call.world.data["tokens"], f"{call.scope}/{call.service}.{call.operation}/{given}"
    digest = _digest(call, token)
    held = tokens.get(key)
    if held is not None and not _forgotten(call, held):
        if held["digest"] != digest:
            text = "The client token was used before, in a request with other parameters"
            raise Refused(token.mismatch, text)
        if held["made"]:
            return _again(call, token, held)
    try:
        reply = handler(call)
    except Refused:
        if call.settings.assumptions.refused_token_is_spent:
            tokens[key] = {"digest": digest, "made": [], "reply": {}, "at": call.now}
        raise
    made = [[row["kind"], row["id"]] for row in call.made if row["kind"] == token.kind]
    tokens[key] = {"digest": digest, "made": made, "reply": json.loads(json.dumps(reply)), "at": call.now}
    return reply


def _digest(call: Call, token: Token) -> str:
    bound = {k: v for k, v in call.params.items() if k not in {token.parameter, "DryRun", *token.unbound}}
    return hashlib.sha256(json.dumps(bound, sort_keys=True, default=repr).encode()).hexdigest()


def _again(call: Call, token: Token, held: dict[str, Any]) -> dict[str, Any]:
    """Return the reply of the first call, with the present state of what it made while that exists."""
    rows = [call.world.table(call.scope, kind).get(ident) for kind, ident in held["made"]]
    present = [row for row in rows if row is not None]
    if len(present) < len(rows):
        reply: dict[str, Any] = held["reply"]
        return reply
    return token.again(call, present)


def _forgotten(call: Call, held: dict[str, Any]) -> bool:
    if call.now < held["at"] + call.settings.assumptions.token_seconds:
        return False
    return not any(call.world.table(call.scope, kind).get(ident) for kind, ident in held["made"])
