"""The clouds: a folder and one value each (ADR 24).

``base.py`` says what a provider brings, ``registry.py`` lists them, ``crds.py`` and ``generate.py`` make CRDs and
pages of docs from the list. ``objects`` is what all kinds of objects share, ``access`` what all accounts share.
"""
