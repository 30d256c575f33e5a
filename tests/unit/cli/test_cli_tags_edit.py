"""``freehold tags edit``: what a person types is applied, or refused with a reason; never left out without a word."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from freehold.cli.commands import tags_edit
from freehold.cli.errors import CliError
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json, key_of
from freehold.tags.context import CLOUD_METADATAS, PROVIDERS

EXAMPLE = Path(__file__).parents[3] / "examples" / "cluster-tags.yaml"

STORED: Json = {
    "apiVersion": "metadata-controller.aws.io/v1alpha1",
    "kind": "AWSMetadata",
    "metadata": {"name": "tags", "namespace": "team", "uid": "u", "annotations": {"a": "b"}},
    "spec": {"resourcetags": {"env": "test"}},
}


def edits(path: Path, **typed: Json) -> list[tags_edit.Edited]:
    shown = yaml.safe_load(tags_edit._render_for_edit(STORED))
    metadata = {**shown["metadata"], **typed.pop("metadata", {})}
    path.write_text(yaml.safe_dump({**shown, **typed, "metadata": metadata}))
    return tags_edit._edits(path, [(PROVIDERS["AWSMetadata"], STORED)])


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"metadata": {"annotations": {"freehold.dev/approve-tags": "abc"}}}, "metadata.annotations"),
        ({"metadata": {"finalizers": []}}, "metadata.finalizers"),
        ({"status": {"type": "ready"}}, "status"),
    ],
)
def test_a_field_that_is_not_edited_is_refused(typed: dict[str, Json], field: str, tmp_path: Path) -> None:
    """It would be left out, and the command would end well."""
    with pytest.raises(CliError, match=f"AWSMetadata team/tags: {field} is not edited here"):
        edits(tmp_path / "tags.yaml", **typed)


def test_labels_and_the_spec_are_edited_and_the_rest_stays(tmp_path: Path) -> None:
    (edit,) = edits(tmp_path / "tags.yaml", metadata={"labels": {"x": "y"}}, spec={"resourcetags": {"env": "prod"}})
    assert edit.wanted["metadata"] == {**STORED["metadata"], "labels": {"x": "y"}}
    assert edit.wanted["spec"] == {"resourcetags": {"env": "prod"}}
    assert edits(tmp_path / "tags.yaml") == []


def test_what_is_no_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\nprintf '\\377' > \"$1\"\n")
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    with pytest.raises(CliError, match="no text in UTF-8: nothing was applied"):
        tags_edit._edit_text(tmp_path / "tags.yaml", "kind: x", ())


async def test_an_object_that_somebody_changed_meanwhile_is_not_asked_for_again(
    client: KubeClient, tmp_path: Path
) -> None:
    """Whatever is typed, it is about what was read: the editor would open for ever."""
    session, edit = await opened(client, tmp_path)
    await client.replace(edit.resource, {**edit.stored, "spec": {**edit.stored["spec"], "resourcetags": {"env": "x"}}})
    with pytest.raises(tags_edit.Outdated, match=r"changed by somebody while it was edited.*run the same command"):
        await tags_edit._dry_run_edits(session, [edit])


async def test_what_the_operator_writes_meanwhile_is_kept_and_the_edit_is_made(
    client: KubeClient, tmp_path: Path
) -> None:
    """Its pass over what drifted ends while a person types: no reason to ask the person again."""
    session, edit = await opened(client, tmp_path)
    key = key_of(edit.stored)
    await client.patch(edit.resource, key, {"metadata": {"annotations": {"freehold.dev/tags-writer": "w"}}})
    assert await tags_edit._dry_run_edits(session, [edit]) == []
    await tags_edit._put(session, edit)
    now = await client.get(edit.resource, key)
    assert now["metadata"]["annotations"]["freehold.dev/tags-writer"] == "w"
    assert now["spec"]["resourcetags"] == {"env": "prod"}


async def opened(client: KubeClient, folder: Path) -> tuple[Any, tags_edit.Edited]:
    """The AWSMetadata of the example as it is stored, and an edit of its tags."""
    resource = PROVIDERS["AWSMetadata"]
    _, own = yaml.safe_load_all(EXAMPLE.read_text(encoding="utf-8"))
    stored = await client.create(resource, own)
    path = folder / "tags.yaml"
    wanted = {**stored, "spec": {**stored["spec"], "resourcetags": {"env": "prod"}}}
    path.write_text(tags_edit._render_for_edit(wanted))
    (edit,) = tags_edit._edits(path, [(resource, stored)])
    return SimpleNamespace(client=client), edit


async def test_a_name_that_two_unrelated_objects_have_is_refused(client: KubeClient) -> None:
    """What a CloudMetadata refers to is opened with it, whatever it is called."""
    cloud, own = yaml.safe_load_all(EXAMPLE.read_text(encoding="utf-8"))
    lone = [{**each, "metadata": {**each["metadata"], "name": "lone"}} for each in (cloud, own)]
    for resource, obj in zip((CLOUD_METADATAS, PROVIDERS["AWSMetadata"]) * 2, (cloud, own, *lone), strict=True):
        await client.create(resource, obj)
    session: Any = SimpleNamespace(client=client, namespace="default")

    async def found(*words: str) -> list[str]:
        return [
            f"{kind.kind}/{row['metadata']['name']}" for kind, row in await tags_edit._read_stored(session, words, "")
        ]

    assert await found("minimal") == ["CloudMetadata/minimal", "AWSMetadata/minimal-tags"]
    with pytest.raises(CliError, match="lone is the name of 2 objects: say which") as refused:
        await found("lone")
    assert [await found(line.split()[-1]) for line in refused.value.more] == [
        ["CloudMetadata/lone", "AWSMetadata/minimal-tags"],
        ["AWSMetadata/lone"],
    ]
    assert await found("awsmetadata", "lone") == ["AWSMetadata/lone"]
