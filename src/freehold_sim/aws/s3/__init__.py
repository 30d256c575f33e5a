"""Simulated S3: buckets, their tags and documents, small objects."""

from freehold_sim.aws.call import Operation
from freehold_sim.aws.s3 import buckets, documents, objects

OPERATIONS: tuple[Operation, ...] = (*buckets.OPERATIONS, *documents.OPERATIONS, *objects.OPERATIONS)
