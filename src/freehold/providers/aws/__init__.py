"""AWS as a provider: ``provider.py`` is its value.

A request goes from a driver (``kinds``) through ``calls.py`` to ``session.py``, signed with ``credentials.py``; what
AWS refuses becomes one of the engine's errors in ``errors.py``. ``accounts.py`` and ``identity_objects.py`` find the
account of an object. ``tags`` has marks, the tag API and the dialect for metadata, ``permissions`` the IAM policies,
``collectors`` the garbage collection, ``types`` the API types that several kinds of objects share. A kind of object is
a folder: ``cluster``.
"""
