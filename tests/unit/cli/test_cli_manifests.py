"""A manifest that cannot be read is refused with every reason and its place."""

from pathlib import Path

import pytest

from freehold.cli.errors import CliError
from freehold.cli.objects import manifests
from freehold.cli.objects.manifests import read

GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"

BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
"""A few lines that expand to more values than fit into memory."""

MERGES = "a: &a {x: x}\n" + "".join(
    f"{name}: &{name} {{<<: [{','.join([f'*{before}'] * 9)}]}}\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
"""The same with merges, which are copied when they are read."""


def _file(tmp_path: Path, content: str | bytes) -> str:
    path = tmp_path / "m.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize(
    ("content", "sentence", "more"),
    [
        ("", "holds no object", ""),
        ("---\n---\n# nothing\n", "holds no object", ""),
        ("a: [1\nb: 2\n", "line 2, column 2: this is not YAML", ""),
        ("hello", "is not a manifest", "an object is expected, this is a text"),
        ("- a\n", "is not a manifest", "this is a list"),
        ("kind: Foo\n", "is not a manifest", "apiVersion is missing"),
        ("apiVersion: v1\nkind: A\nmetadata: {name: 5}\n", "is not a manifest", "it is a number; put it in quotes"),
        (b"\xff\xfe\x00", "is not UTF-8 text (byte 0)", ""),
        (f"{GOOD}---\n{GOOD}", "names an object twice", "is already in"),
        (f"{GOOD}kind: B\n", "line 4, column 1", ""),
        (f"{GOOD}x: .nan\n", "is not a manifest", "cannot be said in JSON"),
        (f"{GOOD}x: !!python/object/apply:os.system [ls]\n", "this is not YAML", ""),
        ("apiVersion: v1\nkind: A\nmetadata: {name: '${CLUSTER_NAME}-a'}\n", "fill in ${CLUSTER_NAME} and", ""),
        (BOMB, "its aliases stand for more than", ""),
        (MERGES, "its merges stand for more than", ""),
        (f"{GOOD}x: &x [*x]\n", "its aliases stand for more than", ""),
        ("x" * 4_000_000, "larger than 3 MiB", ""),
    ],
    ids=[
        "empty", "only separators", "syntax", "text", "list", "fields missing", "number as name", "binary", "twins",
        "key twice", "not a number", "code in tags", "template", "aliases of aliases", "merges of merges",
        "contains itself", "large",
    ],
)  # fmt: skip
def test_errors_are_reported(tmp_path: Path, content: str | bytes, sentence: str, more: str) -> None:
    with pytest.raises(CliError) as refused:
        read(_file(tmp_path, content))
    assert sentence in refused.value.sentence
    assert any(more in each for each in (*refused.value.more, "" if not more else "-"))


def test_errors_in_every_document_are_reported(tmp_path: Path) -> None:
    with pytest.raises(CliError) as refused:
        read(_file(tmp_path, "kind: A\n---\n{}\n"))
    assert len(refused.value.more) == 5  # apiVersion and name of the first, all three of the second


def test_a_missing_file_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="cannot be read: No such file or directory"):
        read(str(tmp_path / "none.yaml"))


def test_dates_and_long_keys_stay_text_as_for_kubectl(tmp_path: Path) -> None:
    [document] = read(_file(tmp_path, f"{GOOD}data: {{when: 2024-01-01, at: 2024-01-01T00:00:00Z}}\n"))
    assert document.obj["data"] == {"when": "2024-01-01", "at": "2024-01-01T00:00:00Z"}
    assert (document.api_version, document.kind, document.namespace, document.name) == ("v1", "ConfigMap", "b", "a")


def test_merge_keys_and_anchors_work(tmp_path: Path) -> None:
    [document] = read(_file(tmp_path, f"{GOOD}base: &b {{x: 1}}\nmore:\n  <<: *b\n  y: 2\n"))
    assert document.obj["more"] == {"x": 1, "y": 2}


def test_a_list_counts_as_its_items(tmp_path: Path) -> None:
    content = (
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n"
        "- {apiVersion: v1, kind: A, metadata: {name: b}}\n"
    )
    assert [each.name for each in read(_file(tmp_path, content))] == ["a", "b"]


def test_several_sources_are_one_manifest(tmp_path: Path) -> None:
    """A directory is read as by kubectl: sorted, without subdirectories. All -f options count."""
    for name in ("b.yml", "a.yaml", "c.json", "notes.txt", "deep/d.yaml"):
        path = tmp_path / "dir" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(GOOD.replace("name: a", f"name: {path.stem}"))
    single = tmp_path / "z.yaml"
    single.write_text(GOOD.replace("name: a", "name: z").replace("\n", "\r\n"))
    assert [each.name for each in read(str(single), str(tmp_path / "dir"))] == ["z", "a", "b", "c"]
    assert len(read(str(tmp_path / "dir"), str(tmp_path / "dir" / "b.yml"))) == 3, "one file said twice is one file"
    (tmp_path / "copy.yaml").write_text((tmp_path / "dir" / "b.yml").read_text())
    with pytest.raises(CliError, match="names an object twice") as twice:
        read(str(tmp_path / "dir"), str(tmp_path / "copy.yaml"))
    assert "copy.yaml: ConfigMap b is already in" in twice.value.more[0]


def test_a_directory_without_a_manifest_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CliError, match=r"holds no manifest \(\*\.yaml, \*\.yml, \*\.json\)"):
        read(str(tmp_path))


@pytest.mark.parametrize(
    "nested", ["[" * 100_000, "- " * 100_000, "{a: " * 100_000, "? " * 100_000], ids=lambda text: text[:3]
)
def test_what_is_nested_too_deeply_is_reported(tmp_path: Path, nested: str) -> None:
    """libyaml recurses on the stack of C: the process would end without a word."""
    with pytest.raises(CliError) as refused:
        read(_file(tmp_path, f"{GOOD}---\n{nested}"))
    assert "YAML" in refused.value.sentence


@pytest.mark.parametrize("opener", ["[", "- ", "{a: "])
def test_the_deepest_nesting_that_libyaml_is_given_does_not_end_the_process(tmp_path: Path, opener: str) -> None:
    with pytest.raises(CliError):
        read(_file(tmp_path, f"{GOOD}---\n{opener * 4_900}"))


def test_both_loaders_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = f"{GOOD}data: {{a: 2024-01-01, b: 0o17, c: yes, d: 1e3, e: ~, f: '1', g: 0x1F, h: 1_000, <<: {{z: 1}}}}\n"
    content += "text: |\n  --- x\n  é\nfolded: >-\n  a\n  b\n---\n" + GOOD.replace("name: a", "name: c")
    quick = read(_file(tmp_path, content))
    monkeypatch.setattr(manifests, "_DEEPEST", -1)
    assert read(_file(tmp_path, content)) == quick
