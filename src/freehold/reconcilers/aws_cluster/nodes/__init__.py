"""The wish of an AWSCluster as nodes, by topic. Pure.

A request has the attributes of :mod:`freehold.clouds.aws.kinds`, as their reads name them.
"""
