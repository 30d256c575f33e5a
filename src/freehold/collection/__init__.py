"""Garbage collection: what the workloads of a cluster made in the cloud, and nobody else deletes.

``things`` are the tasks, ``found`` what a look finds, ``rules`` say what is proven to be the cluster's (pure),
``policy`` whether anything is collected (pure), ``sweep`` does it step by step. No cloud is known here.
"""
