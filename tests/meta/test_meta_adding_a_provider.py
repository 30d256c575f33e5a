"""A provider is one folder and one entry in PROVIDERS: plan, commands, CRD, tags, docs and conformance follow."""

from __future__ import annotations

from pathlib import Path

from harness.changed_copy import ROOT, copy_folder, copy_sources, edit, run_tests

TOY = ROOT / "tests/data/toy_provider"


def test_a_toy_provider_is_added_as_contributing_describes(tmp_path: Path) -> None:
    """One import and one entry, in the conformance suite too. What follows is in ``story.py`` of the folder."""
    copy_sources(tmp_path)
    provider = tmp_path / "src/freehold/providers/toy"
    copy_folder(TOY, provider)
    (provider / "bench.py").rename(tmp_path / "tests/conformance/toy.py")
    (provider / "story.py").rename(tmp_path / "tests/test_story.py")
    line = "from freehold.providers.objects.served_resources import resource_of\n"
    edit(
        tmp_path / "src/freehold/providers/registry.py",
        (line, f"{line}from freehold.providers.toy.provider import TOY\n"),
        ("] = (IBM, AWS)", "] = (IBM, AWS, TOY)"),
    )
    line = "from conformance.ibm import IBM\n"
    edit(
        tmp_path / "tests/conformance/clouds.py",
        (line, f"{line}from conformance.toy import TOY\n"),
        ('"aws": AWS}', '"aws": AWS, "toy": TOY}'),
    )
    assert run_tests(tmp_path, "tests", "-k", "toy or story") > 57
