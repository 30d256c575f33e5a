"""The controllers: what watches objects, and brings the cloud to what they ask for. No cloud is named here.

- ``app.py`` puts the operator together; ``connections.py`` connects it to the clouds of ``PROVIDERS``.
- ``controller.py``, ``workqueue.py``, ``predicates.py``, ``timing.py``: watch, queue, workers, for any kind of object.
- ``reconciler.py`` is one reconcile of an object that owns resources. ``object_memory.py`` is what it remembers,
  ``record_guard.py`` and ``mending.py`` keep the journal against others, ``exclusive_use.py``, ``name_claims.py``,
  ``person_decisions.py`` and ``collecting.py`` are asked on its way, ``pass_events.py`` and ``observation_log.py`` tell
  what came of it.
- ``objects.py``, ``other_objects.py``, ``owner_cluster.py``, ``secret_reader.py``, ``secret_writer.py``: reads and
  writes of the API server.
- ``events.py``, ``observers.py``, ``metrics.py``, ``object_metrics.py``, ``health.py``, ``probes.py``,
  ``process_server.py``, ``logs.py``, ``logged_port.py``: what a person, Kubernetes and Prometheus see of it.
- ``plan``, ``keyring``, ``recovery``: folders of their own.
"""
