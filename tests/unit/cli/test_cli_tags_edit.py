"""``freehold tags edit``: what a person types is applied, or refused with a reason; never left out without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from freehold.cli import tags_edit
from freehold.cli.errors import CliError
from freehold.kube.resources import Json
from freehold.operator.metadata.means import AWS_METADATAS

STORED: Json = {
    "apiVersion": "metadata-controller.aws.io/v1alpha1",
    "kind": "AWSMetadata",
    "metadata": {"name": "tags", "namespace": "team", "uid": "u", "annotations": {"a": "b"}},
    "spec": {"resourcetags": {"env": "test"}},
}


def edits(path: Path, **typed: Json) -> list[tags_edit.Edited]:
    shown = yaml.safe_load(tags_edit._shown(STORED))
    metadata = {**shown["metadata"], **typed.pop("metadata", {})}
    path.write_text(yaml.safe_dump({**shown, **typed, "metadata": metadata}))
    return tags_edit._edits(path, [(AWS_METADATAS, STORED)])


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
