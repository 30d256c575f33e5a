"""The key ring: the secret keys that seal marks and sign records (ADR 4).

``stored_form.py`` is its text and its changes (pure). It is kept in a ``file.py`` on a laptop, in a ``secret.py`` in a
cluster. ``keeper.py`` reads it again when it changes, ``needs.py`` says which keys the stored objects need.
"""
