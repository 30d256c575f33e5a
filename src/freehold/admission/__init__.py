"""Admission: refuses a wrong object when it is applied, by the functions that the reconciler would refuse it with.

- ``webhook_configuration.py`` is what the API server is told: which objects it asks about, and which it never does.
- ``server.py`` answers, in a thread of its own; ``review.py`` is an answer, ``rules.py`` what is wrong with an object.
- ``certificates.py`` issues the certificate and says when the next one is due; ``certificate_store.py`` keeps it in a
  Secret, and its CA in the configuration; ``certificate_files.py`` reads that of cert-manager.
"""
