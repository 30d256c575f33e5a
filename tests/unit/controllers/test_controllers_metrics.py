"""What Prometheus is told of calls and tags, and that no tag is a label."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from freehold.controllers.metrics import Metrics
from freehold.controllers.process_server import Address, serve_pages
from freehold.engine.errors import Throttled
from freehold.engine.port import Call, Effect, InlinePort
from freehold.kube.resources import Key
from freehold.providers.aws.tags.endpoints import AwsTagAccounts
from freehold.tags.cloud_reconcile import CloudReconciler
from freehold.tags.pass_hooks import PassHooks
from harness.aws_clients import SharingCloud
from harness.metadata import CLASSIFIER, NAMESPACE, Lab


def samples(metrics: Metrics) -> Mapping[tuple[str, tuple[str, ...]], float]:
    """By name and label values."""
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def measured(lab: Lab, metrics: Metrics) -> CloudReconciler:
    """The lab's controller, with metrics."""
    cloud = SharingCloud(lab.account.cloud, lab.clock, port=metrics.measure_port(lab.port))
    lab.aws = AwsTagAccounts(cloud, lab.identities, lab.clock)
    return CloudReconciler(replace(lab.means, hooks=PassHooks(metrics.record_pass, metrics.record_ready, [metrics])))


async def test_tags_that_are_written_repaired_and_failed_are_counted(metrics: Metrics) -> None:
    lab = Lab()
    groups = lab.groups(3)
    lab.somebody_sets(groups[0], env="theirs")
    lab.process = measured(lab, metrics)
    await lab.apply_examples()
    lab.wait()
    await lab.settle()
    now = samples(metrics)
    of = (NAMESPACE, "metadata")
    assert now["freehold_tag_resources", (*of, "managed")] == 3
    assert now["freehold_tag_resources", (*of, "drifted")] == 0
    assert now["freehold_tag_changes_total", ("add",)] == 5
    assert now["freehold_tag_changes_total", ("change",)] == 1
    assert now["freehold_tag_batch_size_sum", ("CreateTags",)] == 3
    assert now["freehold_tag_sync_age_seconds", of] >= 0
    assert now["freehold_cloud_calls_total", ("ec2", "write", "ok")] == 1

    assert now["freehold_tag_ready", of] == 1
    lab.somebody_sets(groups[1], env="mine")
    lab.wait()
    await lab.work()
    assert samples(metrics)["freehold_tag_resources", (*of, "drifted")] == 1
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": None, "centre": "eng"}})
    lab.wait()
    await lab.settle()
    assert samples(metrics)["freehold_tag_changes_total", ("remove",)] == 3


@pytest.mark.parametrize(("limit", "ready"), [("POLICY_APPLY_PARTIAL", 1), ("POLICY_APPLY_STRICT", 0)])
async def test_what_there_is_no_room_for_is_counted(metrics: Metrics, limit: str, ready: int) -> None:
    """It is no failure of a call, and it is not as asked for."""
    lab = Lab()
    lab.group("full", **{CLASSIFIER: "owned"}, **{f"z{number}": "1" for number in range(48)})
    lab.groups(1)
    lab.process = measured(lab, metrics)
    await lab.tags("tags", {"env": "test", "centre": "eng"})
    await lab.cloud("metadata", "tags", controllerconfig={"limit": limit})
    told: list[float] = []
    lab.port.before_each = lambda call: told.append(samples(metrics)["freehold_tag_ready", (NAMESPACE, "metadata")])
    await lab.work()
    now, of = samples(metrics), (NAMESPACE, "metadata")
    assert (now["freehold_tag_resources", (*of, "left")], now["freehold_tag_resources", (*of, "failed")]) == (1, 0)
    assert (set(told), now["freehold_tag_ready", of]) == ({0}, ready)


async def test_no_tag_and_no_resource_is_a_label(metrics: Metrics) -> None:
    """Whoever may look at metrics may not see tags; and a label of a value has no end."""
    lab = Lab()
    groups = lab.groups(2, secretive="very-secret-value")
    lab.process = measured(lab, metrics)
    await lab.apply_examples()
    await lab.settle()
    labels = {text for _, values in samples(metrics) for text in values}
    hidden = {"env", "test", "centre", "eng", "owned", "secretive", "very-secret-value", *groups}
    assert not labels & hidden
    assert not [text for text in labels if "arn:" in text or "kubernetes.io" in text or "sg-" in text]


async def test_an_object_that_is_gone_has_no_metrics(metrics: Metrics) -> None:
    lab = Lab()
    lab.groups(1)
    lab.process = measured(lab, metrics)
    await lab.apply_examples()
    await lab.settle()
    await lab.delete("CloudMetadata", "metadata")
    await lab.work()
    assert not [name for name, values in samples(metrics) if NAMESPACE in values]


async def test_an_object_that_is_refused_manages_nothing(metrics: Metrics) -> None:
    lab = Lab()
    lab.process = measured(lab, metrics)
    await lab.apply_examples([0])
    await lab.work()
    assert samples(metrics)["freehold_tag_resources", (NAMESPACE, "metadata", "managed")] == 0


class Refusing:
    """A port that answers with an error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def send(self, call: Call) -> Any:
        raise self._error


@pytest.mark.parametrize(("error", "word"), [(Throttled("x"), "Throttled"), (KeyError("x"), "defect")])
async def test_a_call_that_fails_is_counted_by_its_class(metrics: Metrics, error: Exception, word: str) -> None:
    """And the error goes on unchanged."""
    port = metrics.measure_port(Refusing(error))
    with pytest.raises(type(error)) as raised:
        await port.send(Call("ec2", "describe_tags", Effect.READ, lambda: None))
    assert raised.value is error
    assert samples(metrics)["freehold_cloud_calls_total", ("ec2", "read", word)] == 1


async def test_a_write_of_our_own_object_is_no_call_to_a_cloud(metrics: Metrics) -> None:
    await metrics.measure_port(InlinePort()).send(Call("kubernetes", "patch", Effect.STORE, lambda: None))
    assert not [name for name, _ in samples(metrics) if name == "freehold_cloud_calls_total"]


async def test_a_pass_is_timed_also_when_it_fails(metrics: Metrics) -> None:
    async def fails(key: Key) -> Any:
        raise ValueError

    with pytest.raises(ValueError):
        await metrics.time_reconcile(fails)(Key("a", "b"))
    assert samples(metrics)["freehold_tag_sync_duration_seconds_count", ()] == 1


async def test_they_are_served_as_text_and_the_port_is_free_afterwards(metrics: Metrics) -> None:
    for _ in range(2):
        with serve_pages(Address("127.0.0.1", 0), metrics.build_pages()) as address:
            url = f"http://127.0.0.1:{address.port}/metrics"
            with await asyncio.to_thread(urllib.request.urlopen, url) as reply:
                text = reply.read().decode()
        assert "# TYPE freehold_cloud_calls_total counter" in text
