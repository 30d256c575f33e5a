"""Rows of S3 and Secrets Manager."""

from __future__ import annotations

from freehold.providers.aws.kind_rows.row import KindFacts, PartFacts

KINDS: tuple[KindFacts, ...] = (
    KindFacts(
        name="s3-bucket",
        service="s3",
        create="CreateBucket",
        describe="ListObjectsV2",
        delete="DeleteBucket",
        deleted_by="Bucket",
        arn_type="",
        indexed_as="s3:bucket",
        tags_in="CreateBucketConfiguration.Tags",
        natural_key="name in the partition: BucketAlreadyOwnedByYou, BucketAlreadyExists; us-east-1 answers with "
        "the one that is there",
        immutable=("Bucket", "LocationConstraint"),
        parts=(
            PartFacts("bucket-policy", "one of a bucket", "PutBucketPolicy", "DeleteBucketPolicy", "PutBucketPolicy"),
            PartFacts(
                "bucket-lifecycle",
                "one of a bucket",
                "PutBucketLifecycleConfiguration",
                "DeleteBucketLifecycle",
                "PutBucketLifecycleConfiguration",
            ),
            PartFacts("object", "key", "PutObject", "DeleteObject"),
        ),
        reads=("GetBucketPolicy", "GetBucketLifecycleConfiguration"),
    ),
    KindFacts(
        name="bootstrap-secret",
        service="secretsmanager",
        create="CreateSecret",
        describe="DescribeSecret",
        delete="DeleteSecret",
        deleted_by="SecretId",
        arn_type="secret",
        indexed_as="secretsmanager:secret",
        tags_in="Tags",
        token_in="ClientRequestToken",  # noqa: S106 - the name of a parameter
        natural_key="name in the region: ResourceExistsException",
        immutable=("Name", "SecretBinary"),
        reads=("ListSecrets",),
    ),
)
