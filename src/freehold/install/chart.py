"""Helm chart: the trees of the objects, written as templates.

A template is block YAML. Each value of an option is printed by ``toJson``, which is YAML too, so no value can break out
of its place (https://helm.sh/docs/chart_template_guide/). The Namespace is the release's, and no part of the chart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import yaml

from freehold.install.objects import describe_objects
from freehold.install.options import ROWS, VERSION, InstallOptions, build_values
from freehold.install.tree import ABSENT, Leaf, Tree, When
from freehold.install.values import HELPERS
from freehold.kube.resources import Json

NAME: Final = "freehold"
_GENERATED: Final = "# Generated from src/freehold/install by `make crds`. Do not edit.\n"
_PLAIN: Final = re.compile(r"[A-Za-z/][-A-Za-z0-9._/]*")
"""Texts that YAML reads as themselves, but for its few words."""
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_NOTES: Final = """\
{{- if and .Values.certManager.enabled (not .Values.webhook.enabled) -}}
{{- fail "certManager.enabled is for the certificate of the webhook, which webhook.enabled leaves out" -}}
{{- end -}}
Freehold is installed in namespace {{ .Release.Namespace }}. Once it runs, make a backup of its keys:
  kubectl get secret freehold-keys -n {{ .Release.Namespace }} -o yaml
Without them nothing that it has created can be changed or deleted.
"""
_NOT_PACKAGED: Final = ".*\n*.tmp\n"


def render_chart() -> dict[str, str]:
    """Render the files of the chart: content by path, deterministic."""
    files = {
        "Chart.yaml": _GENERATED + yaml.safe_dump(_build_description(), sort_keys=False, width=110),
        "values.yaml": _render_values(),
        "values.schema.json": json.dumps(build_schema(), indent=2) + "\n",
        ".helmignore": _NOT_PACKAGED,
        "templates/_helpers.tpl": HELPERS,
        "templates/NOTES.txt": _NOTES,
    }
    templates: dict[str, str] = {}
    for tree in describe_objects():
        name = f"templates/{_name_file(tree)}.yaml"
        templates[name] = "---\n".join([*filter(None, [templates.get(name)]), render_object(tree)])
    return {**files, **templates}


def _build_description() -> Json:
    return {
        "apiVersion": "v2",
        "name": NAME,
        "description": "The operator Freehold: the cloud resources behind Kubernetes clusters",
        "type": "application",
        "version": VERSION,
        "appVersion": VERSION,
        "kubeVersion": ">=1.30.0-0",
    }


def _render_values() -> str:
    """Render the default values, each with what it is about."""
    lines = [_GENERATED]
    told = {row.value: row.help for row in ROWS if row.value}
    lines += _render_level(build_values(InstallOptions()), "", told)
    return "".join(lines)


def _render_level(values: Json, path: str, told: Mapping[str, str]) -> Iterator[str]:
    indent = "  " * path.count(".")
    for name, value in values.items():
        here = f"{path}{name}"
        if here in told:
            yield f"{indent}# {told[here].partition(' [')[0].rstrip('.')}.\n{indent}{name}: {json.dumps(value)}\n"
        else:
            yield f"{indent}{name}:\n"
            yield from _render_level(value, f"{here}.", told)


def build_schema() -> Json:
    """Build the JSON schema of the values; it refuses what is not in the table."""
    root = _build_closed_schema()
    root = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of Freehold's chart", **root}
    for row in ROWS:
        if not row.value:
            continue
        *parents, last = row.value.split(".")
        place = root
        for each in parents:
            place = place["properties"].setdefault(each, _build_closed_schema())
        place["properties"][last] = {"description": row.help, **row.schema}
    # Helm gives each chart that is a part of another one these two.
    root["properties"] |= {"global": {"type": "object"}, "enabled": {"type": "boolean"}}
    return root


def _build_closed_schema() -> Json:
    return {"type": "object", "additionalProperties": False, "properties": {}}


def _name_file(tree: Tree) -> str:
    """Name the file of an object by its kind; each CRD has a file of its own."""
    found = tree.then if isinstance(tree, When) else tree
    kind = found["kind"]
    if kind == "CustomResourceDefinition":
        return f"crds/{found['spec']['group']}_{found['spec']['names']['plural']}"
    return str(kind).removesuffix("Binding").removeprefix("Cluster").lower()


def render_object(tree: Tree) -> str:
    """Render an object as a template."""
    return "".join(f"{line}\n" for line in _render(tree, 0))


def _render(tree: Tree, indent: int) -> Iterator[str]:
    """Render lines of block YAML: of an object, of a list, or of a part of one of them under a condition."""
    match tree:
        case When():
            yield from _render_branches(tree, lambda branch: _render(branch, indent))
        case dict():
            for name, value in tree.items():
                yield from _render_entry(_render_scalar(name), value, indent)
        case list():
            for value in tree:
                yield from _render_item(value, indent)
        case _:
            raise TypeError(f"no object and no list: {tree!r}")


def _render_entry(name: str, value: Tree, indent: int) -> Iterator[str]:
    if isinstance(value, When):
        yield from _render_branches(value, lambda branch: _render_entry(name, branch, indent))
    elif isinstance(value, dict | list) and value:
        yield f"{' ' * indent}{name}:"
        yield from _render(value, indent + 2)
    else:
        yield f"{' ' * indent}{name}: {_render_scalar(value)}"


def _render_item(value: Tree, indent: int) -> Iterator[str]:
    if isinstance(value, When):
        yield from _render_branches(value, lambda branch: _render_item(branch, indent))
    elif isinstance(value, dict | list) and value:
        first, *rest = _render(value, indent + 2)
        if "{{- if" in first:
            raise ValueError(f"the first entry of an entry of a list is always there: {first}")
        yield f"{' ' * indent}- {first[indent + 2 :]}"
        yield from rest
    else:
        yield f"{' ' * indent}- {_render_scalar(value)}"


def _render_branches(when: When, render: Callable[[Tree], Iterator[str]]) -> Iterator[str]:
    yield f"{{{{- if {when.condition.helm} }}}}"
    yield from render(when.then)
    if when.otherwise is not ABSENT:
        yield "{{- else }}"
        yield from render(when.otherwise)
    yield "{{- end }}"


def _render_scalar(value: Tree) -> str:
    """Render a value on one line; a text of ours is quoted, and its braces are none of a template."""
    if isinstance(value, Leaf):
        return f"{{{{ {value.helm} | toJson }}}}"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False).replace("{{", '{{ "{{" }}')
