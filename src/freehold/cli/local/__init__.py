"""The state directory of a laptop: its server, its simulated clouds, credentials, and sessions with an API server."""
