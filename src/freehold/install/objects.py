"""All objects of an installation for given options."""

from __future__ import annotations

from freehold.install.options import InstallOptions, check_options
from freehold.install.rights import describe_rights
from freehold.install.tree import ABSENT, evaluate
from freehold.kube.resources import Json


def build_rights(options: InstallOptions) -> list[Json]:
    """Build the roles and bindings of an installation. Raises InvalidInstallOption."""
    check_options(options)
    found = [evaluate(each, options) for each in describe_rights()]
    return [each for each in found if each is not ABSENT]
