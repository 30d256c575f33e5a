"""The clouds of one process, by name. Some are loaded only when they are first asked for."""

from collections.abc import Callable, Iterator, Mapping

from freehold_sim.simulated import SimulatedCloud


class Clouds(Mapping[str, SimulatedCloud]):
    """In the order of `names`. `make` loads one; those in `later` wait until somebody asks for them."""

    def __init__(self, names: tuple[str, ...], later: frozenset[str], make: Callable[[str], SimulatedCloud]) -> None:
        self._names = names
        self._make = make
        self._loaded = {name: make(name) for name in names if name not in later}

    def __getitem__(self, name: str) -> SimulatedCloud:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._loaded:
            self._loaded[name] = self._make(name)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def loaded(self) -> Mapping[str, SimulatedCloud]:
        """Those that have been asked for, or did not wait."""
        return self._loaded
