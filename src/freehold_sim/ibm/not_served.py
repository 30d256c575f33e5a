"""Operations that the vendor serves and this simulator does not: they answer 501 and name the operation.

`vendor_operations.txt` lists them. Its rows come from the vendor's Python SDKs, and for PowerVS from
https://github.com/IBM-Cloud/power-go-client (power/client); a test compares it with the installed SDKs.
"""

from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

from freehold_sim.ibm.call import Call, Reply, Route
from freehold_sim.ibm.router import Router

PREFIXES = {
    "iam": ("/iam",),
    "rc": ("/resource-controller",),
    "rm": ("/resource-controller",),
    "power": ("/power/{region}", ""),
    "vpc": ("/vpc/{region}/v1",),
    "transit": ("/transit/v1",),
    "tagging": ("/tagging",),
    "search": ("/search",),
    "cos": ("/cos/{region}",),
}
"""Where each service is served; PowerVS also at the root, because its Go client takes only scheme and host."""


def _refuse(call: Call) -> Reply:
    message = f"The simulator does not serve {call.operation} (docs/reference/simulator.md)"
    raise call.refuse(501, "not_implemented", message)


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield service, method, path and name of each operation that is not served."""
    for line in files(__package__).joinpath("vendor_operations.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            service, method, path, name = line.split()
            yield service, method, path, name


@lru_cache(maxsize=1)
def _router() -> Router:
    """Build the table when the first request needs it: most programs send none of these."""
    return Router(
        Route(method, prefix + path, f"{service}.{name}", _refuse, method != "GET", served=False)
        for service, method, path, name in rows()
        for prefix in PREFIXES[service]
    )


def find(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """Return the operation at this path as a route that refuses, None if the vendor has none."""
    return _router().find(method, path)
