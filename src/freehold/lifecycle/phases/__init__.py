"""What a pass does, one file a phase, in the order in which :mod:`freehold.lifecycle.engine` runs them."""
