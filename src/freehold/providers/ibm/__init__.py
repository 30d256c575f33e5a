"""IBM Cloud as a provider: ``provider.py`` is its value.

A request goes from a driver (``kinds``) through ``calls.py`` to ``session.py``, which has one token for all services
(``tokens.py``); what IBM Cloud refuses becomes one of the engine's errors in ``errors.py``. ``accounts.py`` is the one
account of the API key. ``marks.py`` and ``tags.py`` spell and write tags. A kind of object is a folder: ``powervs``.
"""
