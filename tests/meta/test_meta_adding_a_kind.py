"""A new kind of cloud resource needs only what CONTRIBUTING lists, and nothing else knows the kinds by name."""

import ast
import shutil
from pathlib import Path

from freehold.engine.port import InlinePort
from freehold.providers.ibm.registry import ibm_kinds
from freehold.providers.ibm.session import ApiKey, IbmSession
from harness.changed_copy import copy_sources, edit, run_tests

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "freehold"
KNOWING = (
    "providers/ibm/kinds/",
    "providers/ibm/powervs/keys.py",
    "providers/aws/",
    "demo/",
    "collection/things.py",
)
"""Places that may name a kind: its own file, the nodes that want it, and the demo; another cloud and the tasks of the
garbage collection have the same words."""


def test_a_cloud_resource_kind_is_named_only_where_contributing_allows() -> None:
    """A person who adds a kind would have to find each further place. One-word names are also words of the vendor."""
    names = {name for name in ibm_kinds(IbmSession(ApiKey("")), InlinePort()) if "-" in name}
    found = [
        f"{path.relative_to(SOURCES)}:{node.lineno} {node.value}"
        for path in SOURCES.rglob("*.py")
        if not str(path.relative_to(SOURCES)).startswith(KNOWING)
        if any(name in (text := path.read_text(encoding="utf-8")) for name in names)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


def test_a_toy_kind_is_added_as_contributing_describes(tmp_path: Path) -> None:
    """One file, one line in the registry, one request for the conformance suite, which then tests it whole."""
    copy_sources(tmp_path)
    ibm = tmp_path / "src/freehold/providers/ibm"
    shutil.copy(ibm / "kinds/security_group.py", ibm / "kinds/toy_group.py")
    edit(ibm / "kinds/toy_group.py", ('name="security-group"', 'name="toy-group"'))
    registered = "security_group.kind(client),"
    edit(
        ibm / "registry.py",
        ("    security_group,\n", "    security_group,\n    toy_group,\n"),
        (registered, f"{registered} toy_group.kind(client),"),
    )
    edit(
        tmp_path / "tests/conformance/ibm.py",
        ('        case "security-group":', '        case "security-group" | "toy-group":'),
        ('    "security-group": "vpc",\n', '    "security-group": "vpc",\n    "toy-group": "vpc",\n'),
    )

    assert run_tests(tmp_path, "tests/conformance", "-k", "toy-group") > 28
