"""What the vendors' SDKs do anew for each client, done once in a process.

`harness.fork_server` imports this by itself.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import cache

from botocore import session
from ibm_cloud_sdk_core import http_adapter


class _Untrusting(ssl.SSLContext):
    """Trusts no server: any connection that it opened would fail."""

    def load_verify_locations(self, *_: object, **__: object) -> None:
        """Nothing to load."""


def spare(put: Callable[[object, str, object], None]) -> None:
    """Put what is the same each time in the SDKs' places.

    IBM's SDK loads certificates for each client (0.02 CPU-seconds), which takes our HTTP session instead. Each session
    of botocore would read the models of its services anew: that of EC2 takes 0.2 CPU-seconds.
    """
    context = _Untrusting(ssl.PROTOCOL_TLS_CLIENT)
    put(http_adapter, "create_urllib3_context", lambda: context)
    put(session, "create_loader", cache(session.create_loader))
