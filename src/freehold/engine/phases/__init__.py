"""What a pass does, one file a phase, in the order in which :mod:`freehold.engine.engine` runs them."""
