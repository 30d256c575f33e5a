"""The service models of botocore: what AWS publishes about its own requests and replies.

Parsing, validation and serialization follow these models, so that a client which follows them too is understood.
"""

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import botocore.loaders
from botocore.model import OperationModel, ServiceModel, Shape

VERSIONS = {"2012-06-01": "elb", "2015-12-01": "elbv2"}
"""Two services share the signing name `elasticloadbalancing`; their requests differ in `Version`."""

SIGNED_AS = {
    "ec2": "ec2", "elasticloadbalancing": "elbv2", "tagging": "resourcegroupstaggingapi", "sts": "sts", "iam": "iam",
    "s3": "s3", "eks": "eks", "secretsmanager": "secretsmanager", "ssm": "ssm",
    "kms": "kms",
}  # fmt: skip
"""Signing names (in the credential scope of a request) of the services that are simulated."""


@dataclass(frozen=True)
class Service:
    """One service: its name in botocore and its model."""

    name: str
    model: ServiceModel

    @cached_property
    def protocol(self) -> str:
        """The protocol to serve: `ec2`, `query`, `json`, `rest-json` or `rest-xml`."""
        return next(each for each in _protocols(self.model) if each in _SERVED)

    @property
    def error_namespace(self) -> str:
        return str(self.model.metadata.get("xmlNamespace", ""))

    def operation(self, name: str) -> OperationModel | None:
        return _operation(self.model, name)


_SERVED = ("ec2", "query", "json", "rest-json", "rest-xml")


def _protocols(model: ServiceModel) -> list[str]:
    return list(model.metadata.get("protocols") or [model.metadata["protocol"]])


@lru_cache(maxsize=4096)  # botocore takes a lock at each access
def _operation(model: ServiceModel, name: str) -> OperationModel | None:
    return model.operation_model(name) if name in model.operation_names else None


@cache
def service(name: str) -> Service:
    """Return a service by its name in botocore. A model is loaded once per process."""
    loaded = _loader().load_service_model(name, "service-2")
    return Service(name, ServiceModel(loaded, name))


@cache
def _loader() -> Any:
    return botocore.loaders.Loader()


@cache
def members(shape: Shape) -> dict[str, Shape]:
    """Return the members of a structure as a plain dict; botocore resolves them anew at each access."""
    return dict(shape.members)


@cache
def member(shape: Shape) -> Shape:
    """Return the member of a list."""
    return shape.member
