"""The controller of ``CloudMetadata``: woken by its own spec and by the ``AWSMetadata`` that it refers to."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from freehold.api import names
from freehold.api.served import AWS_CLUSTER
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json, Key, key_of
from freehold.lifecycle.clock import SystemClock
from freehold.operator.adapters import Aws, Clouds
from freehold.operator.controller import Controller, Done, Result, Watched
from freehold.operator.keyring import RingError
from freehold.operator.keyring_keeper import RingKeeper
from freehold.operator.kinds import resource_of
from freehold.operator.metadata import AWS_METADATAS, CLOUD_METADATAS, Means, MetadataReconciler, Recorder
from freehold.operator.predicates import OWN_ANNOTATIONS, on_spec_or_metadata
from freehold.operator.tag_record import TagRecord
from freehold.operator.timing import RunningTime
from freehold.reconcilers.metadata.demand import Place as TagPlaceOf
from freehold.reconcilers.metadata.demand import Reference, Refused, reference_of
from freehold.tagging.configuration import Configuration

if TYPE_CHECKING:
    from freehold.operator.tag_accounts import AwsTagAccounts
    from freehold.operator.tag_places import Region, TagPlace

AWS_CLUSTERS = resource_of(AWS_CLUSTER)
_OWN = OWN_ANNOTATIONS | {names.TAGS_WRITER_ANNOTATION}


@dataclass(frozen=True)
class Place:
    """Where the record is kept, and which objects are served: of one namespace, or of all where it is empty."""

    record_namespace: str
    record_name: str
    namespace: str
    workers: int


class _Caches:
    """What the watches have shown (metadata.Stored)."""

    def __init__(self, controller: Callable[[], Controller]) -> None:
        self._controller = controller

    def clouds(self) -> Sequence[Json]:
        return self._controller().all()

    def providers(self) -> Sequence[Json]:
        return list(self._controller().follower(AWS_METADATAS).objects.values())

    def clusters(self) -> Sequence[Json]:
        return list(self._controller().follower(AWS_CLUSTERS).objects.values())


class _OnAws:
    """The places on AWS (tag_accounts.TagAccounts). What that needs is loaded for the first object."""

    def __init__(self, aws: Callable[[], Aws], clock: SystemClock) -> None:
        self._aws = aws
        self._clock = clock
        self._loaded: AwsTagAccounts | None = None

    async def at(self, place: TagPlaceOf, namespace: str, subject: str) -> Sequence[TagPlace | Region] | Refused:
        if self._loaded is None:
            from freehold.operator.tag_accounts import AwsTagAccounts

            aws = self._aws()
            self._loaded = AwsTagAccounts(aws.cloud, aws.identities, self._clock)
        return await self._loaded.at(place, namespace, subject)


def metadata_controller(
    client: KubeClient,
    clouds: Clouds,
    regions: tuple[str, ...],
    keeper: RingKeeper,
    clock: SystemClock,
    recorder: Recorder,
    place: Place,
    configuration: Configuration,
) -> Controller:
    """``regions`` are those of objects that name none."""
    assert clouds.aws is not None, "the operator always has it; credentials are looked for when it is asked"
    means = Means(
        client=client,
        stored=_Caches(lambda: controller),
        accounts=_OnAws(clouds.aws, clock),
        record=TagRecord(client, place.record_namespace, place.record_name),
        rings=keeper,
        clock=clock,
        recorder=recorder,
        fraction=random.random,
        regions=regions,
        configuration=configuration,
    )
    reconciler = MetadataReconciler(means)

    async def reconcile(key: Key) -> Result:
        if keeper.problem:
            return Done()  # the keeper asks for all objects when there is a ring
        try:
            return await reconciler.reconcile(key)
        except RingError:  # it went while we looked around; nothing was written after that
            return Done()

    controller = Controller(
        client,
        CLOUD_METADATAS,
        reconcile,
        time=RunningTime(clock),
        namespace=place.namespace,
        workers=place.workers,
        watches=[
            Watched(AWS_METADATAS, lambda tags: referring(controller.all(), tags), _matters, place.namespace),
            Watched(AWS_CLUSTERS, lambda cluster: (), namespace=place.namespace),
        ],
    )
    return controller


def referring(clouds: Iterable[Json], tags: Json) -> list[Key]:
    """The objects that refer to this AWSMetadata."""
    wanted = Reference(*key_of(tags))
    return [key_of(each) for each in clouds if reference_of(each) == wanted]


def _matters(old: Any, new: Any) -> bool:
    """Not its status, and not the annotation that we put on it ourselves."""
    return on_spec_or_metadata(old, new, _OWN)
