"""The objects that a person's words name: NAME, KIND NAME or KIND/NAME, a kind by any spelling that kubectl takes.

A name without a kind must be one object's: two clusters of different kinds may have the same name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from freehold.cli.errors import MISUSED, CliError
from freehold.cli.local.fast_read import ReadSession
from freehold.cli.objects.kinds import NOUN, OURS, Catalog
from freehold.cli.objects.object_lookup import all_of, of_name, short
from freehold.cli.output import hints
from freehold.cli.output.hints import Hint
from freehold.kube.errors import KubeError
from freehold.kube.resources import Key, Resource, key_of

FoundObject = tuple[Resource, Key]


@dataclass(frozen=True)
class ObjectName:
    """A name, and the kinds that it may be of: one where the person said it. ``namespace``: empty where not said."""

    kinds: tuple[Resource, ...]
    name: str
    namespace: str = ""


@dataclass(frozen=True)
class NameSyntax:
    """The way a command takes names: the option before them, its kinds, and what follows the name in a command.

    ``with_namespace``: a name may be NAMESPACE/NAME, because ``-n`` has another meaning in that command.
    """

    command: str
    kinds: tuple[Resource, ...] = OURS
    rest: tuple[str, ...] = ()
    option: str = ""
    with_namespace: bool = False

    def hint(self, *words: str, namespace: str = "", usual: str = "default") -> Hint:
        """Name the command with these words."""
        option = (self.option,) if self.option else ()
        return hints.hint(self.command, *option, *words, namespace=namespace, usual=usual)

    def exact(self, found: FoundObject, usual: str) -> Hint:
        """Name the command that means just this object."""
        resource, key = found
        if self.with_namespace:
            place = f"{key.namespace}/" if key.namespace != usual else ""
            return self.hint(f"{resource.kind}/{place}{key.name}", *self.rest)
        return self.hint(exact_name(resource, key), *self.rest, namespace=key.namespace, usual=usual)


def exact_name(resource: Resource, key: Key) -> str:
    """Return the word that means this object in its namespace, whatever else has its name."""
    return f"{resource.kind}/{key.name}"


async def find_objects(
    session: ReadSession, naming: NameSyntax, words: Sequence[str], namespace: str
) -> list[FoundObject]:
    """Find each object that the words name. Raises CliError unless every one is there, and no name is of several."""
    where = namespace or session.namespace
    named = list(dict.fromkeys(await parse_names(session, naming, words, where)))
    found = [await _find(session, each, where) for each in named]
    missing = [each for each, objects in zip(named, found, strict=True) if not objects]
    if missing:
        there = [each for objects in found for each in objects]
        raise await _say_absent(session, naming, missing, there, where)
    for each, objects in zip(named, found, strict=True):
        if len(objects) > 1:
            told = f"{short(each.name)} is the name of {len(objects)} objects: say which"
            raise CliError(told, [naming.exact(one, session.namespace) for one in objects])
    return list(dict.fromkeys(each for objects in found for each in objects))


async def find_object(session: ReadSession, naming: NameSyntax, words: Sequence[str], namespace: str) -> FoundObject:
    """Find the one object that the words name. Raises CliError."""
    found = await find_objects(session, naming, words, namespace)
    if len(found) > 1:
        raise CliError(f"freehold {naming.command} takes one object", code=MISUSED)
    return found[0]


async def split_words(
    session: ReadSession, naming: NameSyntax, words: Sequence[str], namespace: str
) -> tuple[Sequence[str], Sequence[str]]:
    """Split words into those that name one object and those that follow. Raises CliError."""
    kind = await _leading_kind(session, naming, words, namespace or session.namespace)
    size = 2 if kind is not None else 1
    return words[:size], words[size:]


async def parse_names(
    session: ReadSession, naming: NameSyntax, words: Sequence[str], namespace: str
) -> list[ObjectName]:
    """Read what the words say, without a look at whether it is there. Raises CliError."""
    kind = await _leading_kind(session, naming, words, namespace)
    if kind is None:
        catalog = Catalog(session.client)
        return [await _parse(catalog, naming, each) for each in words]
    slashed = [each for each in words[1:] if "/" in each and not naming.with_namespace]
    if slashed:
        raise CliError(f"give KIND NAME or KIND/NAME, not both: {words[0]} {slashed[0]}", code=MISUSED)
    return [ObjectName((kind,), *_split_namespace(each)) for each in words[1:]]


async def _leading_kind(
    session: ReadSession, naming: NameSyntax, words: Sequence[str], namespace: str
) -> Resource | None:
    """Return the kind that the first word is; None where it is a name. Raises CliError where it may be either."""
    first = words[0]
    kind = None if "/" in first else await Catalog(session.client).find_by_word(first, naming.kinds)
    if kind is None:
        return None
    called = [
        (each, Key(namespace, first)) for each in naming.kinds if await of_name(session, [each], Key(namespace, first))
    ]
    if not called and len(words) == 1:
        raise CliError(f"say which {kind.kind}: {naming.hint(kind.kind, 'NAME')}", code=MISUSED)
    if called and len(words) > 1:
        told = f"{first} is a kind, and the name of an object: say which is meant"
        ways = [naming.hint(f"{kind.kind}/NAME"), *(naming.exact(each, session.namespace) for each in called)]
        raise CliError(told, ways, code=MISUSED)
    return None if called else kind


async def _parse(catalog: Catalog, naming: NameSyntax, word: str) -> ObjectName:
    prefix, slash, name = word.partition("/")
    if not slash:
        return ObjectName(naming.kinds, word)
    kind = await catalog.find_by_word(prefix, naming.kinds)
    if kind is None and naming.with_namespace:
        return ObjectName(naming.kinds, *_split_namespace(word))
    if kind is None or not name:
        kinds = ", ".join(each.kind for each in naming.kinds)
        raise CliError(f"{short(word)} is no KIND/NAME: this command takes {kinds}", code=MISUSED)
    return ObjectName((kind,), *(_split_namespace(name) if naming.with_namespace else (name,)))


def _split_namespace(word: str) -> tuple[str, str]:
    """Split off the namespace before a name."""
    namespace, _, name = word.rpartition("/")
    return name, namespace


async def _find(session: ReadSession, wanted: ObjectName, usual: str) -> list[FoundObject]:
    key = Key(wanted.namespace or usual, wanted.name)
    return [(each, key) for each in wanted.kinds if await of_name(session, [each], key)]


async def _say_absent(
    session: ReadSession, naming: NameSyntax, missing: Sequence[ObjectName], there: Sequence[FoundObject], usual: str
) -> CliError:
    """Say what is not there, where else it is, and what the same command could do without it."""
    first = missing[0].kinds
    what = (
        first[0].kind if len(first) == 1 else NOUN if naming.kinds == OURS else " or ".join(each.kind for each in first)
    )
    keys = ", ".join(str(Key(each.namespace or usual, short(each.name))) for each in missing)
    shown = hints.hint("get", *_kind_to_get(naming), namespace=usual, usual=session.namespace)
    more = [line for each in missing for line in await _elsewhere(session, naming, each)]
    more += [f"nothing was done with what is there: {naming.exact(each, session.namespace)}" for each in there]
    return CliError(f"there is no {what} {keys}; {shown} shows what there is", more)


def _kind_to_get(naming: NameSyntax) -> list[str]:
    return [] if naming.kinds[0] in OURS else [naming.kinds[0].plural]


async def _elsewhere(session: ReadSession, naming: NameSyntax, wanted: ObjectName) -> list[str]:
    """Return the commands that mean what has the name in other namespaces, as far as this person may look there."""
    found = []
    for resource in wanted.kinds:
        try:
            keys = [key_of(each) for each in await all_of(session, [resource], "")]
        except KubeError:
            continue  # who may read one namespace alone is told of that one
        found += [(resource, key) for key in keys if key.name == wanted.name]
    return [f"in namespace {key.namespace}: {naming.exact((kind, key), session.namespace)}" for kind, key in found]
