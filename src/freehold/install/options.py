"""Options of an installation: one table for the command line, the values of the Helm chart and their schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from freehold import __version__
from freehold.api.feature_gates import FeatureGate
from freehold.kube.resources import Json
from freehold.providers.registry import PROVIDERS

NAMESPACE: Final = "freehold-system"
PROVIDER_NAMES: Final = tuple(sorted(provider.name for provider in PROVIDERS))
VERSION: Final = __version__

_NAME = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
"""A label of DNS, as the name of a namespace is."""
_LONG_NAME = "[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?"
_LABEL_VALUE = "([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?"
_QUANTITY = "[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?"


class InvalidInstallOption(ValueError):
    """An option, or a value of the chart, that cannot be; the message names it."""


def _all_gates() -> tuple[str, ...]:
    return tuple(sorted(FeatureGate))


@dataclass(frozen=True)
class InstallOptions:
    """Everything that an installation decides. ``ROWS`` says what each is and may be.

    ``serves_namespace`` is the only namespace whose objects are served, empty for all.
    """

    namespace: str = NAMESPACE
    replicas: int = 2
    image: str = f"freehold:{VERSION.replace('+', '-')}"
    image_pull_secret: str = ""
    providers: tuple[str, ...] = PROVIDER_NAMES
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    serves_namespace: str = ""
    watch_filter: str = ""
    shards: int = 1
    log_level: str = "info"
    log_format: str = "json"
    webhook: bool = True
    cert_manager: bool = False
    credentials: Mapping[str, str] = field(
        default_factory=lambda: {name: f"freehold-{name}-credentials" for name in PROVIDER_NAMES}
    )
    env: Mapping[str, str] = field(default_factory=dict)
    token_audience: str = ""
    service_account_annotations: Mapping[str, str] = field(default_factory=dict)
    monitoring: bool = False
    page: bool = False
    network_policy: bool = True
    egress_ports: tuple[int, ...] = (443, 6443)
    cpu_request: str = "100m"
    memory_request: str = "256Mi"
    memory_limit: str = "1Gi"

    def serves(self, provider: str) -> bool:
        """Return whether the objects of this provider are served."""
        return provider in self.providers


@dataclass(frozen=True)
class Row:
    """One row of the table: a field of InstallOptions, its option, its path in the chart's values and what it may be.

    ``expects`` says in words what ``schema`` allows.
    """

    field: str
    option: str
    value: str
    schema: Json
    expects: str
    help: str


def _text(pattern: str) -> Json:
    return {"type": "string", "pattern": f"^{pattern}$"}


def _texts(pattern: str, names: str = "") -> Json:
    schema: Json = {"type": "object", "additionalProperties": _text(pattern)}
    return {**schema, "propertyNames": {"pattern": f"^{names}$"}} if names else schema


_BOOLEAN: Json = {"type": "boolean"}
_ONE_LINE = "[^\\x00-\\x1f\\x7f]*"

ROWS: Final[tuple[Row, ...]] = (
    Row("namespace", "--namespace", "", _text(_NAME), "the name of a namespace", "The operator's own namespace."),
    Row(
        "replicas", "--replicas", "replicas", {"type": "integer", "minimum": 1, "maximum": 100},
        "a number from 1 to 100", "Processes, of which one leads; with shards each has its part.",
    ),
    Row(
        "image", "--image", "image", _text("[a-z0-9][-._:/@a-zA-Z0-9]{0,511}"), "the name of an image",
        "The operator's image.",
    ),
    Row(
        "image_pull_secret", "--image-pull-secret", "imagePullSecret", _text(f"({_LONG_NAME})?"),
        "the name of a Secret", "The Secret with which the image is pulled.",
    ),
    Row(
        "providers", "--providers", "providers",
        {"type": "array", "items": {"enum": list(PROVIDER_NAMES)}, "minItems": 1, "uniqueItems": True},
        f"one or more of {', '.join(PROVIDER_NAMES)}, each once", "The clouds whose objects are served.",
    ),
    Row(
        "feature_gates", "--feature-gates", "featureGates",
        {"type": "object", "properties": dict.fromkeys(_all_gates(), _BOOLEAN), "additionalProperties": False},
        f"NAME=true or NAME=false, of {', '.join(_all_gates())}", "Features that are turned on or off.",
    ),
    Row(
        "serves_namespace", "--namespace-only", "namespaceOnly", _text(f"({_NAME})?"), "the name of a namespace",
        "Serve the objects of this namespace only, with rights there and not in the whole cluster.",
    ),
    Row(
        "watch_filter", "--watch-filter", "watchFilter", _text(_LABEL_VALUE), "a value of a label",
        "Serve only objects with this value of the label cluster.x-k8s.io/watch-filter.",
    ),
    Row(
        "shards", "--shards", "shards", {"type": "integer", "minimum": 1, "maximum": 256}, "a number from 1 to 256",
        "Parts into which the objects are divided among the replicas.",
    ),
    Row(
        "log_level", "--log-level", "logLevel", {"enum": ["debug", "info", "warning", "error"]},
        "debug, info, warning or error", "Least severity that is logged.",
    ),
    Row("log_format", "--log-format", "logFormat", {"enum": ["text", "json"]}, "text or json", "Form of a log line."),
    Row(
        "webhook", "--webhook/--no-webhook", "webhook.enabled", _BOOLEAN, "true or false",
        "Refuse wrong objects when they are applied.",
    ),
    Row(
        "cert_manager", "--cert-manager/--no-cert-manager", "certManager.enabled", _BOOLEAN, "true or false",
        "Let cert-manager make the webhook's certificate, instead of a CA of the operator's own.",
    ),
    Row(
        "credentials", "--credentials", "credentials",
        {
            "type": "object", "properties": dict.fromkeys(PROVIDER_NAMES, _text(f"({_LONG_NAME})?")),
            "additionalProperties": False,
        },
        f"CLOUD=SECRET, with a cloud of {', '.join(PROVIDER_NAMES)}",
        "The Secret of the operator's namespace whose entries are variables with credentials; it need not exist.",
    ),
    Row(
        "env", "--env", "env", _texts(_ONE_LINE, "[A-Za-z_][A-Za-z0-9_]*"), "NAME=VALUE of a variable",
        "More variables of the operator; no secrets.",
    ),
    Row(
        "token_audience", "--token-audience", "tokenAudience", _text("[-._:/a-zA-Z0-9]*"), "the audience of a token",
        "Mount a token of the service account for this audience at /var/run/secrets/tokens/sa-token.",
    ),
    Row(
        "service_account_annotations", "--service-account-annotation", "serviceAccount.annotations",
        _texts(_ONE_LINE), "NAME=VALUE of an annotation", "Annotations of the service account.",
    ),
    Row(
        "monitoring", "--monitoring/--no-monitoring", "monitoring.enabled", _BOOLEAN, "true or false",
        "Add a PodMonitor of the Prometheus operator.",
    ),
    Row(
        "page", "--page/--no-page", "page.enabled", _BOOLEAN, "true or false",
        "Serve the live page to those who may list the objects. It is plain HTTP: look at it through"
        " kubectl port-forward, or an ingress that ends TLS.",
    ),
    Row(
        "network_policy", "--network-policy/--no-network-policy", "networkPolicy.enabled", _BOOLEAN, "true or false",
        "Add a NetworkPolicy for the operator.",
    ),
    Row(
        "egress_ports", "--egress-ports", "networkPolicy.egressPorts",
        {
            "type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 65535}, "minItems": 1,
            "uniqueItems": True,
        },
        "numbers of TCP ports", "TCP ports to which the NetworkPolicy lets the operator connect.",
    ),
    Row("cpu_request", "--cpu-request", "resources.requests.cpu", _text(_QUANTITY), "a quantity", "CPU requested."),
    Row(
        "memory_request", "--memory-request", "resources.requests.memory", _text(_QUANTITY), "a quantity",
        "Memory requested.",
    ),
    Row(
        "memory_limit", "--memory-limit", "resources.limits.memory", _text(_QUANTITY), "a quantity",
        "Most memory of a process.",
    ),
)  # fmt: skip
"""``value`` is empty for the namespace, which is the release's in Helm."""


def check_options(options: InstallOptions) -> None:
    """Raise InvalidInstallOption if a value cannot be."""
    import jsonschema_rs  # imported here because only this function needs it

    for row in ROWS:
        value = to_json(getattr(options, row.field))
        if not jsonschema_rs.is_valid(row.schema, value):
            raise InvalidInstallOption(f"{row.option.partition('/')[0]} is {_show(value)}: expected {row.expects}")
    for name, asked in (("--cert-manager", options.cert_manager),):
        if asked and not options.webhook:
            raise InvalidInstallOption(f"{name} is for the certificate of the webhook, which --no-webhook leaves out")


def to_json(value: object) -> Any:
    """Return the value of an option as JSON."""
    match value:
        case tuple():
            return list(value)
        case Mapping():
            return dict(value)
        case _:
            return value


def _show(value: object) -> str:
    match value:
        case list():
            return ",".join(map(str, value)) or "empty"
        case dict():
            return ",".join(f"{name}={entry}" for name, entry in value.items())
        case _:
            return repr(value)


def build_values(options: InstallOptions) -> Json:
    """Build the values of the chart for these options."""
    values: Json = {}
    for row in ROWS:
        if row.value:
            *parents, last = row.value.split(".")
            place = values
            for each in parents:
                place = place.setdefault(each, {})
            place[last] = to_json(getattr(options, row.field))
    return values


assert {row.field for row in ROWS} == {each.name for each in fields(InstallOptions)}  # each option has its row
