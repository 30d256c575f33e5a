"""Read the models that botocore has of AWS's services, once in a process: they are the same for every identity."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from freehold.providers.aws.kind_facts import SERVICES, operations_of


@cache
def shared_session() -> Any:
    """Return the session for what is the same for every identity: building one takes ten milliseconds."""
    from botocore.session import Session

    return Session()


@cache
def model_loader() -> Any:
    """Return the loader of the service models, read once: EC2's model takes 0.2 CPU-seconds and 30 MB."""
    return _ModelsInUse(shared_session().get_component("data_loader"))


class _ModelsInUse:
    """A loader of service models that leaves out the operations that we never send.

    A client has a method for each operation: the 750 of EC2 took each identity's client 20 milliseconds and a megabyte.
    """

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:
        model = self._loader.load_service_model(service_name, type_name, api_version)
        if type_name != "service-2" or service_name not in SERVICES:
            return model
        used = operations_of(service_name)
        return {**model, "operations": {name: each for name, each in model["operations"].items() if name in used}}


def page_tokens(service: str, operation: str) -> tuple[str, str]:
    """Return the members that hold the next page's token, in request and reply; empty for a list without pages."""
    return _page_tokens(service).get(operation, ("", ""))


@cache
def _page_tokens(service: str) -> Mapping[str, tuple[str, str]]:
    from botocore import xform_name

    pages = model_loader().load_service_model(service, "paginators-1")["pagination"]
    return {
        xform_name(name): (str(page.get("input_token", "")), str(page.get("output_token", "")))
        for name, page in pages.items()
    }
