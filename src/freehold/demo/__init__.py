"""The demo: the main job as a story, every step checked against the simulated cloud itself."""
