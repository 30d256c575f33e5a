"""The live page: what the operator's caches hold, for people who look at it in a browser. Nothing is written."""
