"""Files of the page that others wrote: they are those that are pinned, and their licence is with them."""

from __future__ import annotations

import hashlib
import re

from harness.source_state import ROOT

STATIC = ROOT / "src/freehold/page/static"
VENDOR = STATIC / "vendor"
PIN = re.compile(r"^([0-9a-f]{64}) [ *](\S+)$", re.MULTILINE)


def test_vendored_files_are_those_that_are_pinned() -> None:
    """Otherwise: make vendor."""
    pinned = {name: digest for digest, name in PIN.findall((VENDOR / "SHA256SUMS").read_text())}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir()}
    del found["SHA256SUMS"]
    assert found == pinned
    scripts = {name for name in pinned if name.endswith(".js")}
    assert scripts and {f"{name.split('.')[0]}.LICENSE" for name in scripts} <= pinned.keys()


def test_layout_of_graphs_is_read_only_with_a_graph() -> None:
    """The first view of the page, and an object as a table, do without it."""
    importing = re.compile(r"""from\s+["']\./(graph|graph_layout|vendor/[\w.]+)\.js["']""")
    found = {(path.name, each) for path in STATIC.glob("*.js") for each in importing.findall(path.read_text())}
    assert found == {("graph.js", "graph_layout"), ("graph_layout.js", "vendor/dagre.esm")}
