"""The options of the metadata controller, for ``operator`` and ``serve``. Only click and the standard library here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from freehold.cli import options


def metadata(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command gets ``metadata``, a tagging.configuration.Configuration."""

    @functools.wraps(command)
    def configured(
        *given: Any, sync_period: float, approve_above: int, ignore_tag_keys: str, ignore_tag_prefixes: str, **more: Any
    ) -> Any:
        from freehold.tagging.configuration import Configuration
        from freehold.tagging.protected import IgnoreList

        ignored = IgnoreList(frozenset(_words(ignore_tag_keys)), tuple(_words(ignore_tag_prefixes)))
        return command(*given, metadata=Configuration(sync_period, approve_above, ignored), **more)

    for option in _OPTIONS:
        configured = option(configured)
    return configured


def _period(context: click.Context, parameter: click.Parameter, value: str) -> float:
    from freehold.tagging.sync_period import parse_sync_period

    seconds = parse_sync_period(value)
    if not isinstance(seconds, float):
        raise click.BadParameter(seconds.message)
    return seconds


def _words(text: str) -> list[str]:
    return [each for each in (part.strip() for part in text.split(",")) if each]


_OPTIONS = (
    click.option(
        "--ignore-tag-prefixes", default="openshift.io/", show_default=True, metavar="PREFIX,…",
        help="Tag keys that begin with one of these are in no operation.",
    ),
    click.option(
        "--ignore-tag-keys", default="", metavar="KEY,…", callback=options.filled,
        help="Tag keys that no metadata object touches.",
    ),
    click.option(
        "--approve-above", type=click.IntRange(min=0), default=100, show_default=True, metavar="RESOURCES",
        help="A plan that overwrites foreign tag values, or removes tags, on more of them waits for an approval.",
    ),
    click.option(
        "--sync-period", default="10m", show_default=True, metavar="DURATION", callback=_period,
        help="How often tags are looked at where an object does not say; at least 30s.",
    ),
)  # fmt: skip
