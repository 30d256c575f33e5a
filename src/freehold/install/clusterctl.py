"""Files of a provider of Cluster API, as ``clusterctl`` reads them (docs/reference/capi-contract.md C44 to C48).

The components are the objects of an installation; feature gates and the least severity of the log can still be chosen
by variables, and the image by an override of clusterctl. The templates of clusters are in ``templates``.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

import yaml

from freehold.api.feature_gates import FeatureGate, format_gates, parse
from freehold.api.names import CONTRACT_V1BETA1_LABEL
from freehold.install.manifest import dump_objects
from freehold.install.names import CONTAINER, PROVIDER
from freehold.install.objects import build_objects
from freehold.install.options import VERSION, InstallOptions, InvalidInstallOption
from freehold.kube.resources import Json

RELEASE: Final = VERSION.partition("+")[0]
"""What a build adds to the version is no part of a release's name."""
_LEVEL: Final = "--log-level="
_GATES: Final = "--feature-gates="


def render_provider(options: InstallOptions) -> dict[str, str]:
    """Render the files of a provider: content by path. Raises InvalidInstallOption."""
    found = {
        "metadata.yaml": yaml.safe_dump(_build_metadata(), sort_keys=False),
        "infrastructure-components.yaml": _render_components(options),
    }
    for each in files("freehold.install").joinpath("templates").iterdir():
        if each.name.endswith(".yaml"):
            found[each.name] = each.read_text("utf-8")
    return {f"{PROVIDER}/v{RELEASE}/{name}": content for name, content in sorted(found.items())}


def write_provider(directory: Path, options: InstallOptions) -> list[Path]:
    """Write the files of a provider below a directory; return their paths. Raises InvalidInstallOption."""
    written = []
    for name, content in render_provider(options).items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        written.append(path)
    return written


def _build_metadata() -> Json:
    """Build what says which contract each series of releases follows: that of the CRDs' labels."""
    major, minor, _ = RELEASE.split(".")
    series = {"major": int(major), "minor": int(minor), "contract": CONTRACT_V1BETA1_LABEL.rpartition("/")[2]}
    return {"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Metadata", "releaseSeries": [series]}


def _render_components(options: InstallOptions) -> str:
    if options.serves_namespace:
        raise InvalidInstallOption("clusterctl takes objects of one namespace only: leave out --namespace-only")
    objects = build_objects(options)
    if "${" in (text := dump_objects(objects)):
        at = text.index("${")
        raise InvalidInstallOption(f"clusterctl would take {text[at : at + 40]!r} for a variable")
    for each in objects:
        if each["kind"] == "Deployment":
            _put_variables(each, options)
    return dump_objects(objects)


def complete_image(image: str) -> str:
    """Complete the name of an image with the registry that is meant without one: clusterctl takes no other.

    Source: https://github.com/distribution/reference/blob/main/normalize.go.
    """
    first, slash, _ = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return image
    return f"docker.io/{image}" if slash else f"docker.io/library/{image}"


def _put_variables(deployment: Json, options: InstallOptions) -> None:
    """Put variables for level and gates. The image is none: clusterctl reads it unsubstituted, to override it."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["name"] == CONTAINER
    container["image"] = complete_image(options.image)
    gates = parse(",".join(f"{name}={on}" for name, on in options.feature_gates.items()))
    named = format_gates(gates, frozenset(FeatureGate))  # an empty default would be none for clusterctl
    container["args"] = [
        *(each for each in container["args"] if not each.startswith((_LEVEL, _GATES))),
        f"{_LEVEL}${{FREEHOLD_LOG_LEVEL:={options.log_level}}}",
        f"{_GATES}${{FREEHOLD_FEATURE_GATES:={named}}}",
    ]
