"""Commands that messages tell people to run next: they must work as they are printed."""

from __future__ import annotations

from shlex import quote


def command(words: str, *names: str, namespace: str = "", usual: str = "default") -> str:
    """``freehold <words> <names> -n <namespace>``, without the namespace where it is the ``usual`` one."""
    parts = ["freehold", words, *map(quote, names)]
    if namespace and namespace != usual:
        parts += ["-n", quote(namespace)]
    return " ".join(parts)
