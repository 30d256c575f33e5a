"""The toy cloud as a provider. Imports no SDK and no types: a command that needs neither does not wait for them."""

from __future__ import annotations

from freehold.providers.base import Provider
from freehold.providers.toy.access import VARIABLE, access_of
from freehold.providers.toy.kind import TOY_KIND

TOY = Provider(
    name="toy",
    title="Toy Cloud",
    objects=(TOY_KIND,),
    access=access_of,
    has_credentials=lambda env: bool(env.get(VARIABLE)),
    variable=VARIABLE,
    how=f"{VARIABLE} to the file of your toy cloud",
    without=f"no credentials for Toy Cloud ({VARIABLE}): its objects will say NoCredentials",
)
