"""Commands: what can be typed, one file for each command or group, and what it does."""
