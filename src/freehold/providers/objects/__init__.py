"""What all kinds of objects that own resources share.

``adapter.py`` is what one kind brings. ``gate.py`` and ``identity.py`` decide whether an object may be worked on and
whose it is (pure). ``cluster_status.py``, ``status.py``, ``part_conditions.py``, ``resource_rows.py`` and
``collection_condition.py`` make its status. ``cloud_answers.py``, ``spec_problems.py``, ``logical_names.py`` and
``served_fields.py`` are values and helpers of the decisions about a spec.
"""
