"""``freehold tags`` on a state directory: plan, apply, and what is told of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from freehold.api.names import TAGS_APPLIED_ANNOTATION
from freehold.tags.policy.configuration import Configuration
from freehold.tags.policy.protected import IgnoreList
from harness.metadata import EXAMPLES, WANTED
from harness.tag_world import TagWorld
from harness.terminals import freehold_on_terminal

pytestmark = pytest.mark.early

CAREFUL = Configuration(approve_above=2, ignored=IgnoreList(frozenset({"centre"})))


@pytest.fixture
def world(tmp_path: Path) -> TagWorld:
    return TagWorld(tmp_path / "state", {"a": {"owner": "x"}, "b": {"env": "prod"}})


@pytest.fixture
def served(world: TagWorld) -> Iterator[TagWorld]:
    """The same with a server beside it, which the commands join."""
    with world.served():
        yield world


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "tags.yaml"
    path.write_text(EXAMPLES)
    return str(path)


def test_plan_apply_drift_and_back(world: TagWorld, manifest: str) -> None:
    """The plan says what apply then does; nothing is left to do; drift is planned and repaired."""
    before = world.tags()
    plan = world.run("tags", "plan", "-f", manifest, "-o", "json", "--detailed-exitcode")
    assert plan.code == 2, plan.err
    (told,) = plan.json()
    assert told["object"] == "metadata-controller/metadata"
    rows = {
        (each["resource"].rpartition("/")[2], row["action"], row["key"], tuple(row["from"]), row["to"])
        for each in told["resources"]
        for row in each["tags"]
        if row["key"] in ("env", "centre")
    }
    a, b = world.ids["a"], world.ids["b"]
    assert rows == {
        (a, "add", "env", (), "test"),
        (a, "add", "centre", (), "eng"),
        (b, "change", "env", ("prod",), "test"),
        (b, "add", "centre", (), "eng"),
    }
    (call,) = told["calls"]
    assert (call["verb"], len(call["targets"])) == ("CreateTags", 2)
    assert world.tags() == before, "a plan writes nothing"
    none = world.run("tags", "plan", "-o", "json")
    assert (none.json(), "there is no CloudMetadata" in none.err) == ([], True), "nor to the API server"

    done = world.run("tags", "apply", "-f", manifest, "--create-namespace", "--yes")
    assert done.code == 0, done.out + done.err
    assert "2 tagged" in done.out
    assert world.tags() == {"a": {"owner": "x", **WANTED}, "b": WANTED}
    again = world.run("tags", "plan", "--detailed-exitcode")
    assert (again.code, "nothing to change" in again.out) == (0, True), again.out + again.err

    world.tag("a", env="mine")
    drift = world.run("tags", "plan", "metadata", "--detailed-exitcode")
    assert drift.code == 2 and "~ env: mine → test" in drift.out and "somebody changed it" in drift.out
    repaired = world.run("tags", "apply", "-f", manifest, "--yes")
    assert repaired.code == 0 and "AWSMetadata metadata-controller/awstags: unchanged" in repaired.out
    assert "1 tagged" in repaired.out
    assert world.tags()["a"]["env"] == "test"


def test_on_a_terminal_the_plan_is_shown_and_asked_for(served: TagWorld, manifest: str) -> None:
    """No is no: neither a tag nor an object."""
    given = ("tags", "apply", "-f", manifest, "--create-namespace", "--state", str(served.state.path))
    shown = freehold_on_terminal(*given, typed="n\n", after="[y/N]")
    assert shown.code == 1 and "~ env: prod → test" in shown.text and "nothing was applied" in shown.text
    assert served.tags() == {"a": {"owner": "x"}, "b": {"env": "prod"}}
    assert not served.state.audit_of_people.exists()
    agreed = freehold_on_terminal(*given, typed="y\n", after="[y/N]")
    assert agreed.code == 0 and "2 tagged" in agreed.text
    who = json.loads(served.state.audit_of_people.read_text().splitlines()[0])
    assert who["by"] and who["object"] == "CloudMetadata metadata-controller/metadata"
    stored = served.run("get", "cloudmetadatas", "metadata", "-n", "metadata-controller", "-o", "json").json()
    assert stored["metadata"]["annotations"][TAGS_APPLIED_ANNOTATION].startswith(who["by"])


def test_other_kinds_are_left_to_freehold_up(world: TagWorld, manifest: str) -> None:
    more = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"
    said = world.run("tags", "apply", "-f", "-", "--yes", stdin=EXAMPLES + more)
    assert said.code == 1 and "ConfigMap default/a" in said.err and "freehold up" in said.err


def test_what_cannot_be_done_at_all_is_not_applied(world: TagWorld) -> None:
    """A CloudMetadata without its AWSMetadata: the controller would wait, a person is told at once."""
    cloud = EXAMPLES.split("---")[0]
    said = world.run("tags", "apply", "-f", "-", "--create-namespace", "--yes", stdin=cloud)
    assert said.code == 1 and "does not exist: make it" in said.err
    assert "there is no CloudMetadata" in world.run("tags", "plan").err


def test_a_grant_that_stops_others_says_so_before_it_is_applied(served: TagWorld, manifest: str) -> None:
    """The first one stops every namespace that it does not name: nobody should learn that from what is not tagged."""
    assert served.run("tags", "apply", "-f", manifest, "--create-namespace", "--yes").code == 0
    grant = (
        "apiVersion: metadata-controller.cloud.io/v1alpha1\nkind: MetadataGrant\nmetadata: {name: platform}\n"
        "spec: {namespaces: [elsewhere]}\n"
    )
    for command in ("plan", "apply"):
        said = served.run("tags", command, "-f", "-", stdin=grant)
        assert said.code == 0, said.err
        assert "metadata-controller/metadata: no MetadataGrant names the namespace metadata-controller" in said.err
    assert "no MetadataGrant names the namespace" in served.run("tags", "plan", "metadata").err


def editor(folder: Path, *edits: str) -> str:
    """One that makes the next of these edits (sed) each time it is opened, and keeps what it was shown."""
    script = folder / "editor.py"
    script.write_text(
        f"""
import pathlib, subprocess, sys
folder, edits = pathlib.Path({str(folder)!r}), {list(edits)!r}
number = len(list(folder.glob("shown-*")))
(folder / f"shown-{{number}}").write_text(pathlib.Path(sys.argv[1]).read_text())
if number < len(edits):
    subprocess.run(["sed", "-i", edits[number], sys.argv[1]], check=True)
"""
    )
    return f"{sys.executable} {script}"


def test_a_report_says_what_is_there_and_how_far_it_is_as_wanted(world: TagWorld, manifest: str) -> None:
    """No server stands beside: its operator would look once more after the apply, and repair what drifts."""
    assert world.run("tags", "apply", "-f", manifest, "--create-namespace", "--yes").code == 0
    world.tag("b", env="mine")
    with world.denying("ec2.DescribeTags"):
        unclear = world.run("tags", "report", "-o", "json")
    (share,) = unclear.json()["objects"]
    assert (unclear.code, share["resources"], share["as wanted"], share["not known"]) == (1, 2, 1, 1)
    report = world.run("tags", "report", "-o", "json").json()
    (share,) = report["objects"]
    assert (share["resources"], share["as wanted"], share["drifted"]) == (2, 1, 1)
    (found,) = report["findings"]
    assert (found["found"], found["wanted"], found["standing"]) == ("mine", "test", "drifted")


def test_an_edit_is_made_and_the_audit_says_who_did_what(served: TagWorld, manifest: str, tmp_path: Path) -> None:
    world = served
    assert world.run("tags", "apply", "-f", manifest, "--create-namespace", "--yes").code == 0
    env = {"EDITOR": editor(tmp_path, 's/^    env: test/    "aws:x": y/', "s/^ *.aws:x.: y/    team: blue/")}
    edited = world.run("tags", "edit", "metadata", "--yes", **env)
    assert edited.code == 0, edited.out + edited.err
    assert "reserved by AWS" not in (tmp_path / "shown-0").read_text()
    assert (
        "\n# AWSMetadata metadata-controller/awstags: spec.resourcetags: keys that begin with aws:"
        in (tmp_path / "shown-1").read_text()
    )
    new = {"team": "blue", "centre": "eng"}
    assert world.tags() == {"a": {"owner": "x", **new}, "b": new}
    nothing = world.run("tags", "edit", "metadata", "--yes", EDITOR="true")
    assert (nothing.code, nothing.out.splitlines()[-1]) == (0, "nothing was changed")

    rows = world.run("tags", "audit", "-o", "json").json()
    assert {each["why"].partition(":")[0] for each in rows if not each["resource"]} == {
        "created (tags apply)",
        "edited (tags edit)",
    }
    changes = {(each["resource"].rpartition("/")[2], each["key"], each["from"], each["to"]) for each in rows}
    assert (world.ids["b"], "env", "prod", "test") in changes and (world.ids["a"], "team", None, "blue") in changes
    assert {each["outcome"] for each in rows} == {"done", "decided"}
    assert world.run("tags", "audit", "--verify").code == 0


def test_a_resource_that_is_refused_is_told_with_its_class_and_the_others_are_tagged(
    world: TagWorld, manifest: str
) -> None:
    """Exit code 1; once the reason is gone the same command ends well."""
    with world.served() as cloud:
        fault = {"effect": "denied", "operation": "ec2.CreateTags", "contains": world.ids["b"], "count": None}
        cloud("POST", "faults", fault)
        said = world.run("tags", "apply", "-f", manifest, "--create-namespace", "--yes")
        assert said.code == 1, said.out + said.err
        (failed,) = (line for line in said.out.splitlines() if line.split()[1:2] == ["failed"])
        assert failed.startswith(f"security-group/{world.ids['b']}") and "Denied UnauthorizedOperation" in failed
        assert f"security-group/{world.ids['a']}   tagged" in said.out
        assert "1 failed, 1 tagged" in said.err
        cloud("DELETE", "faults", None)
        again = world.run("tags", "apply", "-f", manifest, "--yes")
        assert again.code == 0 and "1 tagged" in again.out, again.out + again.err
    assert world.tags()["b"] == WANTED


def test_what_is_left_is_no_success(served: TagWorld, tmp_path: Path) -> None:
    """``add`` leaves a value that somebody set, and the object is not ready: no command calls that done."""
    path = tmp_path / "add.yaml"
    path.write_text(EXAMPLES.replace("spec:\n  resourcetags:", "spec:\n  opcode: add\n  resourcetags:"))
    plan = served.run("tags", "plan", "-f", str(path))
    assert "1 left other than asked for" in plan.out + plan.err
    for counted in ("1 left, 1 tagged", "1 left"):
        said = served.run("tags", "apply", "-f", str(path), "--create-namespace", "--yes")
        assert said.code == 1 and f"({counted})" in said.err, said.out + said.err
        (left,) = (line for line in said.out.splitlines() if line.split()[1:2] == ["left"])
        assert left.startswith(f"security-group/{served.ids['b']}") and "TagExists: the tag 'env'" in left
    assert served.tags() == {"a": {"owner": "x", **WANTED}, "b": {"env": "prod", "centre": "eng"}}
    served.tag("b", env="test")
    assert served.run("tags", "apply", "-f", str(path), "--yes").code == 0


def test_what_waits_for_a_person_is_told_and_approved_by_its_digest(tmp_path: Path, manifest: str) -> None:
    """More foreign values than may be overwritten without a word: without a terminal the digest is the word.

    How many that is, the operator's own option says, and the plan goes by it.
    """
    world = TagWorld(tmp_path / "state", {f"g{n}": {"env": "theirs"} for n in range(3)})
    with world.served(CAREFUL):
        said = world.run("tags", "apply", "-f", manifest, "--create-namespace", "--yes")
        assert said.code == 1 and "3 waits" in said.err, said.out + said.err
        assert world.tags() == {name: {"env": "theirs"} for name in world.ids}
        digest = said.err.rpartition("--approve ")[2].split()[0]
        wrong = world.run("tags", "apply", "-f", manifest, "--approve", "0" * 16, "--yes")
        assert wrong.code == 1 and "no plan has the digest" in wrong.err
        short = world.run("tags", "apply", "-f", manifest, "--approve", digest[:16], "--yes")
        assert short.code == 1 and "no plan has the digest" in short.err, short.err
        approved = world.run("tags", "apply", "-f", manifest, "--approve", digest, "--yes")
        assert approved.code == 0 and "3 tagged" in approved.out, approved.out + approved.err
        assert world.tags() == {name: {"env": "test"} for name in world.ids}
        people = world.run("tags", "audit", "-o", "json").json()
        assert f"approved the plan {digest}" in {each["why"] for each in people}


def test_an_edit_asks_for_the_approval_that_it_gives(tmp_path: Path, manifest: str) -> None:
    """Whoever says yes to it approves what waits, and the audit log has who it was."""
    world = TagWorld(tmp_path / "state", {f"g{n}": {"owner": "x"} for n in range(3)})
    with world.served(CAREFUL):
        assert world.run("tags", "apply", "-f", manifest, "--create-namespace", "--yes").code == 0
        world.tag(*world.ids, env="theirs")
        change = editor(tmp_path, "s/^    env: test/    env: other/")
        given = ("tags", "edit", "metadata", "--state", str(world.state.path))
        shown = freehold_on_terminal(*given, EDITOR=change, typed="y\n", after="[y/N]")
        assert "Apply, and approve what waits? [y/N]" in shown.text
        assert shown.code == 0, shown.text
        assert {tags["env"] for tags in world.tags().values()} == {"other"}
        people = world.run("tags", "audit", "-o", "json").json()
        assert any(str(each["why"]).startswith("approved the plan") for each in people)
