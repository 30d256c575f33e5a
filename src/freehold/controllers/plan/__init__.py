"""Plans: what an object, or its deletion, would do. A plan is the passes themselves on a dry run (ADR 12).

``planner.py`` runs them, ``rows.py`` says what they wrote, ``plan.py`` is the result as JSON. ``collection_planner.py``
and ``collection.py`` are the same for what a delete would collect.
"""
