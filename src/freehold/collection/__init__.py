"""Garbage collection of what the workloads of a cluster made in the cloud and nobody else deletes.

``policy`` decides whether anything is collected, ``rules`` what is proven to be the cluster's (both pure); ``found``
has the results of a look, ``survey`` the protocol of a cloud, ``sweep`` the steps. No cloud is known here.
"""
