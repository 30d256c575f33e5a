"""Garbage collection: what the workloads of a cluster made in the cloud, and whether it goes. No SDK, no cloud."""
