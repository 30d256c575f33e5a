"""Garbage collection: what the workloads of a cluster made in the cloud, and nobody else deletes.

``policy`` says whether anything is collected, ``rules`` what is proven to be the cluster's (both pure); ``found`` is
what a look shows, ``survey`` what a cloud offers for it, ``sweep`` does it step by step. No cloud is known here.
"""
