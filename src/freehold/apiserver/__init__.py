"""The embedded Kubernetes API server: what kubectl and an operator need, in front of SQLite.

For laptops, the demo and tests; not a replacement for a cluster's API server (no authentication, no
server-side apply, no webhooks). Start at :mod:`freehold.apiserver.server`; the path of a write is
:mod:`freehold.apiserver.handlers`, :mod:`~freehold.apiserver.objects`, :mod:`~freehold.apiserver.store`.
"""
