"""The embedded Kubernetes API server: the part of the API that kubectl and an operator need, stored in SQLite.

For laptops, the demo and tests; not a replacement for a cluster's API server (no users, no
authorization). Start at :mod:`freehold_apiserver.server`; a write passes through
:mod:`freehold_apiserver.handlers`, :mod:`~freehold_apiserver.objects`, :mod:`~freehold_apiserver.store`.
"""
