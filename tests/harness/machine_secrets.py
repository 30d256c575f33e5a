"""The Secrets with bootstrap data, as machines of tests read them."""

from __future__ import annotations

import base64
import random
from typing import Any

from freehold.kube import errors as kube
from freehold.kube.resources import SECRETS, Key

TOKEN = "abcdef.0123456789abcdef"
DATA = f"#cloud-config\nruncmd:\n- kubeadm join --token {TOKEN}\n# ".encode() + random.Random(3).randbytes(8_000)


class Secrets:
    """The Secrets of the namespace."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, bytes]] = {"boot": {"value": DATA}}

    async def get(self, resource: Any, key: Key) -> dict[str, Any]:
        assert resource == SECRETS
        if key.name not in self.stored:
            raise kube.NotFound(f"there is no {key.name}", code=404)
        return {"data": {name: base64.b64encode(value).decode() for name, value in self.stored[key.name].items()}}
