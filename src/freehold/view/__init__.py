"""Readings of stored objects for people: ``object_view`` of the status, ``journal_view`` of the journal.

All are pure, and say nothing of where they are shown: a terminal, or the live page.
"""
