"""Resources that are said to be gone: the record forgets them only where that is so."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from freehold.kube.resources import Key
from freehold.providers.aws.tags import native_tags
from harness.metadata import CLASSIFIER, NAMESPACE, WANTED, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


def _answers(lab: Lab, arn: str, code: str, text: str) -> None:
    """The tagging API says this of the resource, from now on."""
    answer = {"FailedResourcesMap": {arn: {"StatusCode": 400, "ErrorCode": code, "ErrorMessage": text}}}
    lab.port.instead = lambda call: (lambda: answer) if call.operation == "tag_resources" else None


async def _recorded(lab: Lab, arn: str) -> set[str]:
    record = (await lab.means.record.load(lab.rings.ring, begun=True)).find_record(arn)
    assert isinstance(record, Mapping), "the record is lost"
    return set(record)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("InternalServiceException", "The service-linked role was not found"),
        ("InvalidParameterException", "The policy of the account does not exist"),
        ("InvalidParameterException", "{arn} does not exist"),
    ],
    ids=["of a role", "of a policy", "of the resource, which is there"],
)
async def test_a12_a_resource_that_is_there_is_not_forgotten_by_a_word(lab: Lab, code: str, text: str) -> None:
    """Its tags would count as somebody else's from then on, and stay for ever."""
    (arn,) = lab.secrets(1)
    await lab.apply_examples()
    await lab.settle()
    _answers(lab, arn, code, text.format(arn=arn))
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": "prod"}})
    lab.wait()
    await lab.work()
    assert lab.condition("Applied")[0] == "False"
    assert await _recorded(lab, arn) == set(WANTED)
    lab.port.instead = lambda call: None
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": None}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "centre": "eng"}


@pytest.fixture
def unknown_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets Manager stands for a service of which only the index is known here, as of queues and functions."""
    known = native_tags.keeper_of
    monkeypatch.setattr(native_tags, "keeper_of", lambda arn: None if arn.service == "secretsmanager" else known(arn))


@pytest.mark.usefixtures("unknown_service")
async def test_a24_what_only_the_index_shows_is_changed_and_removed_by_it(lab: Lab) -> None:
    (arn,) = lab.secrets(1)
    await lab.tags("awstags", WANTED, deletionPolicy="Remove")
    await lab.cloud("metadata", "awstags")
    await lab.settle()
    lab.wait()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": "prod", "centre": None}})
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "prod"}
    lab.wait()
    await lab.remove("awstags")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned"}
    assert ("AWSMetadata", Key(NAMESPACE, "awstags")) not in lab.objects.objects


@pytest.mark.usefixtures("unknown_service")
async def test_a24_what_is_deleted_does_not_hold_the_removal_for_ever(lab: Lab) -> None:
    """The index does not show it: once is a hint, and again a minute later it is gone."""
    (arn,) = lab.secrets(1)
    await lab.tags("awstags", WANTED, deletionPolicy="Remove")
    await lab.cloud("metadata", "awstags")
    await lab.settle()
    lab.account.cloud.strangers.delete(arn)
    lab.wait(86400)
    await lab.remove("awstags", passes=1)
    assert ("AWSMetadata", Key(NAMESPACE, "awstags")) in lab.objects.objects, "the index may lag"
    assert "Retain" in lab.condition("Request", "AWSMetadata", "awstags")[2]
    lab.wait(60)
    await lab.let_go("awstags")
    assert ("AWSMetadata", Key(NAMESPACE, "awstags")) not in lab.objects.objects
