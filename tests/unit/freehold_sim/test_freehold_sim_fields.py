"""No field of a body is dropped in silence: the fields of IBM's SDKs are compared with those that are declared."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from sdk_operations import SDKS, SdkOperation, operations

from freehold_sim.http import Request
from freehold_sim.ibm.call import Route
from freehold_sim.ibm.fields import Field, Fields, Served
from freehold_sim.ibm.not_served import PREFIXES, rows
from freehold_sim.ibm.services import ROUTES

OPEN = {("rc", "parameters")}
"""Objects that are passed on whole, by service and field."""

SIMULATED_QUERY = {"vpc": {"maturity"}}
"""Query parameters that the services have and their SDKs do not send."""


def _shape(method: str, path: str) -> tuple[str, str]:
    return method, re.sub(r"\{[^}]*\}", "{}", path)


BY_SHAPE: Mapping[tuple[str, str], Route] = {_shape(route.method, route.pattern): route for route in ROUTES}


def _route(operation: SdkOperation) -> Route | None:
    found = (BY_SHAPE.get(_shape(operation.method, at + operation.path)) for at in PREFIXES[operation.service])
    return next((route for route in found if route is not None), None)


@cache
def _served() -> list[tuple[SdkOperation, Route]]:
    """Read when a test asks: to parse the SDKs takes 1.5 CPU-seconds, which each worker would spend on collecting."""
    return [(one, route) for service in SDKS for one in operations(service) if (route := _route(one)) is not None]


def _models(module: Any, annotation: Any) -> list[type]:
    """Return the model that an annotation names, and its variants."""
    names = re.findall(r"\b[A-Z]\w+", str(annotation))
    named = [model for name in names if inspect.isclass(model := getattr(module, name, None))]
    every = [model for model in vars(module).values() if inspect.isclass(model)]
    return [model for model in every if any(issubclass(model, one) for one in named)]


def _fields_of(models: list[type]) -> dict[str, list[Any]]:
    """Return the JSON names of the models' fields, with the annotations of their values."""
    found: dict[str, list[Any]] = {}
    for model in models:
        for name, parameter in list(inspect.signature(model.__init__).parameters.items())[1:]:  # type: ignore[misc]  # of the SDK
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                found.setdefault(name.rstrip("_"), []).append(parameter.annotation)
    return found


def _sdk_fields(operation: SdkOperation) -> dict[str, list[Any]]:
    module, client = import_module(SDKS[operation.service][0]), SDKS[operation.service][1]
    method = getattr(getattr(module, client), operation.name)
    parameters = inspect.signature(method).parameters
    if operation.model:
        return _fields_of(_models(module, parameters[operation.model].annotation))
    names = {name: name if name in parameters else f"{name}_" for name in operation.fields}
    return {name: [parameters[given].annotation] for name, given in names.items()}


def _problems(operation: SdkOperation, sdk: dict[str, list[Any]], fields: Fields, inside: str = "") -> Iterator[str]:
    for name in sorted(sdk.keys() - fields.keys()):
        yield f"{inside}{name} is neither served nor refused"
    for name in sorted(fields.keys() - sdk.keys()):
        yield f"{inside}{name} is not a field of the SDK"
    module = import_module(SDKS[operation.service][0])
    for name in sorted(fields.keys() & sdk.keys()):
        nested = _fields_of([model for one in sdk[name] for model in _models(module, one)])
        yield from _nested_problems(operation, nested, fields[name], f"{inside}{name}")


def _nested_problems(operation: SdkOperation, nested: dict[str, list[Any]], field: Field, path: str) -> Iterator[str]:
    if isinstance(field, Mapping):
        yield from _problems(operation, nested, field, f"{path}.")
    elif nested and field is Served.YES and (operation.service, path) not in OPEN:
        yield f"{path} is an object whose fields are not declared"


def test_every_field_of_a_body_is_served_or_refused() -> None:
    found = {
        f"{one.service}.{one.name}": list(_problems(one, _sdk_fields(one), route.fields)) for one, route in _served()
    }
    assert {name: problems for name, problems in found.items() if problems} == {}


def test_the_comparison_notices_a_field_that_is_missing_invented_or_not_described() -> None:
    """Otherwise the test above could pass for the wrong reason."""
    operation, route = next(pair for pair in _served() if pair[0].name == "create_subnet")
    fields: dict[str, Field] = {**route.fields, "vpc": Served.YES, "color": Served.YES}
    del fields["name"]
    found = list(_problems(operation, _sdk_fields(operation), fields))
    assert found == [
        "name is neither served nor refused",
        "color is not a field of the SDK",
        "vpc is an object whose fields are not declared",
    ]


def test_no_query_parameter_is_invented() -> None:
    found = {
        f"{one.service}.{one.name}": route.query - one.query - SIMULATED_QUERY.get(one.service, set())
        for one, route in _served()
    }
    assert {name: invented for name, invented in found.items() if invented} == {}


def test_every_operation_that_takes_an_etag_compares_it() -> None:
    """Each of them is tried in test_freehold_sim_vpc; another one must be added there."""
    assert {one.name for one, _ in _served() if one.if_match} == {
        "update_vpc", "delete_vpc", "update_load_balancer", "delete_load_balancer", "update_load_balancer_pool",
    }  # fmt: skip


# -- operations that are not served ---------------------------------------------------------------------------


def test_every_operation_of_the_sdks_is_served_or_listed_as_not_served() -> None:
    listed = {(service, *_shape(method, path)) for service, method, path, _ in rows()}
    every = {(one.service, *_shape(one.method, one.path)) for service in SDKS for one in operations(service)}
    served = {(one.service, *_shape(one.method, one.path)) for one, _ in _served()}
    assert every - served - listed == set()
    assert served & listed == set()


def test_an_operation_that_is_not_served_answers_501_in_the_form_of_its_service(account: Any) -> None:
    forms = {
        "iam": lambda body: body["errorMessage"], "rc": lambda body: body["message"],
        "rm": lambda body: body["message"], "power": lambda body: body["description"],
    }  # fmt: skip
    headers = {"authorization": f"Bearer {account.token}"}
    for service, method, path, name in rows():
        for prefix in PREFIXES[service]:
            asked = Request(method, re.sub(r"\{[^}]*\}", "x", prefix + path), {}, headers)
            answer = account.cloud.handle(asked)
            if account.cloud.calls[-1].operation in {route.operation for route in ROUTES}:
                continue  # the place of a literal segment is a variable of an operation that is served
            assert answer.status == 501, asked.path
            if service != "cos":
                say = forms.get(service, lambda body: body["errors"][0]["message"])
                assert f"{service}.{name} " in say(answer.json())
            else:
                assert b"<Code>NotImplemented</Code>" in answer.body


def test_a_request_without_token_is_refused_before_it_is_called_not_served(account: Any) -> None:
    assert account.cloud.handle(Request("GET", "/vpc/us-south/v1/instances")).status == 401


def test_a_null_is_no_field(account: Any) -> None:
    """The SDKs of other languages send null for what is not given."""
    headers = {"authorization": f"Bearer {account.token}"}
    asked = Request(
        "POST", "/vpc/us-south/v1/vpcs", {"version": "2026-01-01", "generation": "2"}, headers,
        b'{"name": "net", "dns": null, "classic_access": null, "color": null}',
    )  # fmt: skip
    assert account.cloud.handle(asked).status == 201
    assert account.cloud.handle(replace(asked, body=b'{"name": "other", "color": "red"}')).status == 400
