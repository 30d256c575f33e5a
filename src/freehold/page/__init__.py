"""The live page: what the operator's caches hold, for people who look at it in a browser. Nothing is written.

What is shown is pure: ``rows`` with ``attention``, ``detail`` with ``edges`` and ``history``, ``deletion``, ``tags``;
``stored_object`` reads an object whatever it has in it, and ``audit`` reads the log. ``source`` has the objects,
``feed`` their changes, ``streams`` its viewers; ``api`` and ``server`` answer, ``gate`` and ``reviews`` say to whom,
and ``live`` puts all together. The front end is in ``static``.
"""
