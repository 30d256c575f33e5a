"""What a person should know about an object at once. Pure."""

from __future__ import annotations

from freehold.cli import hints
from freehold.cli.view import View, sentence


def attention(view: View, *, rows_shown: bool = False) -> list[str]:
    """What a person should know at once: what is retried, what blocks, and what goes on meanwhile.

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
    return [*lines, f"somebody must act before {view.namespace}/{view.name} is {aim}{meanwhile}"]


def being_deleted(kind: str, namespace: str, name: str) -> str:
    """Say what to do about an object of ours that a manifest asks for, and whose deletion was requested."""
    until = hints.command("down", f"{kind}/{name}", namespace=namespace)
    return (
        f"{kind} {namespace}/{name} is being deleted: wait until it is gone ({until}), then run the same command again"
    )
