"""Decisions about tags: which are wanted, whose they are, what is written and removed, and what is said of it. Pure."""
