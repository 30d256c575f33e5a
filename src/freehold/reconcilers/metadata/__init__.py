"""``CloudMetadata`` with the provider's object that it refers to: what they ask for, what that comes to, what is told.

Pure. These objects own no resource: no journal, no graph. Readings: docs/reference/metadata-compat.md.
"""
