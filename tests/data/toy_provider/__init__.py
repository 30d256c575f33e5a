"""A whole provider, to copy: a cloud of nets and boxes, in a JSON file that the variable TOY_CLOUD names.

It stands in ``src/freehold/providers/toy``. In the order in which to read it: ``cloud`` is the vendor's SDK, ``calls``
every request and the table of errors, ``tags`` the tagger, ``kinds`` the two kinds of resources, ``account`` what
objects are served with, ``access`` the way from the environment to it; ``kind``, ``types`` and ``adapter`` the one kind
of object; ``provider`` the value that says all of it. Two files belong among the tests: ``bench``, its account in
the conformance suite, and ``story``.
"""
