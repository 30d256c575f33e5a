"""Highlights of an object: what a person should know at once. Pure."""

from __future__ import annotations

from collections.abc import Collection

from freehold.cli.output import hints
from freehold.cli.output.hints import hint
from freehold.view.object_view import View, ViewPhase, sentence


def attention(view: View, *, rows_shown: bool = False) -> list[str]:
    """Tell what a person should know at once: what is retried, what blocks, and what goes on meanwhile.

    ``rows_shown``: the resources stand above with their own sentences, which are not repeated.
    """
    rest = f" (and {len(view.retrying) - 1} more)" if len(view.retrying) > 1 else ""
    told = set(map(sentence, view.lines)) if rows_shown else set()
    lines = [
        *(f"blocked: {text}" for text in view.blocked if text not in told),
        *(f"held: {text}" for text in view.held if text not in told),
        *(f"retrying: {text}{rest}" for text in view.retrying[:1] if text not in told),
    ]
    if not view.blocked:
        return lines
    going = [f"{line.kind} {line.name}" for line in view.lines if line.moving]
    aim = "gone" if view.deleting else "Ready"
    meanwhile = f"; meanwhile at work: {', '.join(going)}" if going else ""
    act = f"somebody must act before {view.namespace}/{view.name} is {aim}{meanwhile}"
    return [*lines, act, *options_note([view])]


def options_note(views: Collection[View]) -> list[str]:
    """Say which options the commands need that these objects name; nothing where nobody must act."""
    if not any(each.blocked or each.held for each in views):
        return []
    said = hints.where(with_kubectl=any(each.phase is ViewPhase.PAUSED for each in views))
    return [said] if said else []


def being_deleted(kind: str, namespace: str, name: str) -> str:
    """Say what to do about an object of ours that a manifest asks for, and whose deletion was requested."""
    until = hint("down", f"{kind}/{name}", namespace=namespace)
    return (
        f"{kind} {namespace}/{name} is being deleted: wait until it is gone ({until}), then run the same command again"
    )
