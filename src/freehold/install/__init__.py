"""Installation of the operator in a cluster: the objects, and the same ones as a Helm chart and for clusterctl.

``options`` is the one table of what an installation decides. ``rights``, ``workload`` and ``crds`` describe the objects
as trees (``tree``), ``objects`` evaluates these for given options, ``chart`` writes them as templates of Helm, and
``clusterctl`` as the files of a provider of Cluster API. ``generate`` writes what is checked in.
"""
