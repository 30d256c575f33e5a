"""Reads for a person after a loss: what has no object any more, and what only a person can decide. No writes."""
