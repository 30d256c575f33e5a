"""The command that prints an installation. Only click and the standard library here (see ``main``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from freehold.cli.commands import options


class _InstallCommand(click.Command):
    """A command whose options are the table of an installation, which is read when they are needed."""

    _own: list[click.Parameter]
    _built: list[click.Parameter]

    @property
    def params(self) -> list[click.Parameter]:
        if not self._built:
            from freehold.cli.commands.manifests import build_parameters

            self._built = [*build_parameters(), *self._own]
        return self._built

    @params.setter
    def params(self, own: list[click.Parameter]) -> None:
        self._own, self._built = own, []


_OWN = (
    click.Option(
        ["--clusterctl"], type=options.NonEmptyPath(path_type=Path, file_okay=False), metavar="DIR",
        help="Write the files of a provider for clusterctl below DIR instead of printing.",
    ),
)  # fmt: skip


def _print_manifests(**given: Any) -> None:
    from freehold.cli.commands import manifests as command

    command.run(**given)


manifests = _InstallCommand(
    "manifests",
    callback=_print_manifests,
    params=list(_OWN),
    short_help="Print the objects of an installation in a cluster, as YAML.",
    help="Print what installs the operator in a cluster: freehold manifests | kubectl apply --server-side -f -\n\n"
    "The Helm chart in deploy/chart has the same objects, and its values are these options.",
)

COMMANDS = (manifests,)
