"""All objects of an installation."""

from __future__ import annotations

from collections.abc import Iterable

from freehold.install.crds import describe_crds
from freehold.install.options import InstallOptions, check_options
from freehold.install.page import describe_page
from freehold.install.rights import describe_rights
from freehold.install.tree import ABSENT, Tree, evaluate
from freehold.install.webhook import describe_webhook
from freehold.install.workload import describe_namespace, describe_workload
from freehold.kube.resources import Json


def describe_objects() -> list[Tree]:
    """Describe all objects but the Namespace, in the order in which they are applied.

    The webhook's configuration is last: from then on writes wait for the operator.
    """
    return [*describe_crds(), *describe_rights(), *describe_workload(), *describe_page(), *describe_webhook()]


def build_objects(options: InstallOptions) -> list[Json]:
    """Build the objects of an installation. Raises InvalidInstallOption."""
    check_options(options)
    return _evaluate_all([describe_namespace(), *describe_objects()], options)


def build_rights(options: InstallOptions) -> list[Json]:
    """Build the roles and bindings of an installation. Raises InvalidInstallOption."""
    check_options(options)
    return _evaluate_all(describe_rights(), options)


def _evaluate_all(trees: Iterable[Tree], options: InstallOptions) -> list[Json]:
    found = [evaluate(each, options) for each in trees]
    return [each for each in found if each is not ABSENT]
