"""What only a person can decide about one resource, signed with the operator's key ring.

A decision is made by a command that can read the ring, and stored beside the journal. The engine acts on it in a pass,
checks the evidence anew, and answers with a :class:`Conclusion`. A decision that is not signed counts for nothing:
whoever may edit the object must not decide what is deleted.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from freehold.engine.keys import ObjectKeys, is_same
from freehold.engine.resources import NodeKey
from freehold.engine.value_texts import parse_json

LIFE = 86_400.0
"""Seconds of domain time for which a decision may be acted on: a stored copy of it must not decide for ever."""

DONE, REFUSED = "done", "refused"
"""How an answer begins."""


class Verdict(StrEnum):
    """What was decided."""

    MINE = "mine"  # a create whose outcome is unclear made this resource
    NOT_MINE = "not-mine"  # that create made nothing, and may be tried again
    PRUNE = "prune"  # ours, no longer wanted, and to be deleted


@dataclass(frozen=True)
class Decision:
    """One decision about one node, and the answer to it.

    ``node`` is the node's key as text, ``id`` the engine id of the resource (empty with NOT_MINE). ``attempt`` is that
    of the journal's entry when it was decided: a later create is not meant. ``at`` is in epoch seconds. ``answer`` is
    empty until the engine has acted on it; with it the signature goes, so that nobody can take the answer back.
    """

    verdict: Verdict
    node: str
    id: str
    attempt: int
    by: str
    at: float
    key: str = ""
    signature: str = ""
    answer: str = ""

    @property
    def about(self) -> NodeKey:
        return NodeKey.parse(self.node)


@dataclass(frozen=True)
class Conclusion:
    """What became of a decision. ``done`` is False where it was refused; ``message`` says why, or what was done.

    ``is_signed``: it is what was decided, by whom it says.
    """

    decision: Decision
    done: bool
    message: str
    is_signed: bool = True


class DamagedDecisions(Exception):
    """The stored decisions cannot be read: none of them counts."""


def sign_decision(decision: Decision, keys: ObjectKeys) -> Decision:
    """Return the decision with a signature of the writing key."""
    keyed = replace(decision, key=keys.writing)
    return replace(keyed, signature=_signature(keyed, keys))


def is_signed(decision: Decision, keys: ObjectKeys) -> bool:
    return decision.key in keys.readable and is_same(decision.signature, _signature(decision, keys))


def _signature(decision: Decision, keys: ObjectKeys) -> str:
    said = (decision.node, decision.id, str(decision.attempt), decision.by, f"{decision.at:.3f}")
    return keys.signature(decision.key, f"decision {decision.verdict}", "\0".join(said))


def dumps(decisions: Iterable[Decision]) -> str:
    return json.dumps([asdict(each) for each in decisions], separators=(",", ":"), sort_keys=True)


def loads(text: str) -> tuple[Decision, ...]:
    """Parse the decisions of an object. Raises DamagedDecisions."""
    try:
        return tuple(_decision(row) for row in parse_json(text))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise DamagedDecisions(f"the decisions cannot be read ({type(error).__name__})") from error


def _decision(row: dict[str, Any]) -> Decision:
    texts = {name: row.get(name, "") for name in ("node", "id", "by", "key", "signature", "answer")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("no text where one is needed")
    return Decision(verdict=Verdict(row["verdict"]), attempt=int(row["attempt"]), at=float(row["at"]), **texts)


def pending(decisions: Collection[Decision]) -> tuple[Decision, ...]:
    """Return those that nothing has acted on yet."""
    return tuple(each for each in decisions if not each.answer)


def add_answers(decisions: Iterable[Decision], conclusions: Iterable[Conclusion]) -> tuple[Decision, ...]:
    """Return the decisions with the answers of one pass."""
    answers = {each.decision: f"{DONE if each.done else REFUSED}: {each.message}" for each in conclusions}
    return tuple(replace(each, answer=answers[each], signature="") if each in answers else each for each in decisions)
