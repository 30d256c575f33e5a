"""The cluster plan of an AWSCluster as nodes, by topic. Pure.

A request has the attributes of :mod:`freehold.providers.aws.kinds`, as their reads name them.
"""
