"""``python -m benchmarks.custodian_on_moto``: Cloud Custodian on the bare moto fleet on which the tests run ours.

By hand, with the Python of a virtual environment made elsewhere, in which ``pip install c7n==0.9.53 moto==5.2.5`` was
run. It ends with code 0 where the peer's two policies leave what ``test_scenario_metadata_moto.py`` expects of the
metadata controller; so they did.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any


def main() -> int:
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    # In that environment only; moto puts itself under every client, so no request leaves the process.
    import boto3
    from moto import mock_aws

    from harness.moto_fleet import REGION, WANTED, left_of, make, tags_of

    os.environ |= {"AWS_DEFAULT_REGION": REGION, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    with mock_aws():
        ec2 = boto3.client("ec2", REGION)
        make(ec2)
        before = tags_of(ec2)
        ends = []
        for action, tagged in (
            ({"type": "tag", "tags": WANTED}, True),
            ({"type": "tag", "tags": WANTED}, True),
            ({"type": "remove-tag", "tags": sorted(WANTED)}, False),
        ):
            _run(action)
            ends.append(tags_of(ec2) == left_of(before, tagged=tagged))
    print("ends alike:", ends)
    return 0 if all(ends) else 1


def _run(action: dict[str, Any]) -> None:
    from harness.moto_fleet import CHOSEN, CLASSIFIER

    filters = [{f"tag:{CLASSIFIER}": CHOSEN}]
    policy = {"name": "volumes", "resource": "aws.ebs", "filters": filters, "actions": [action]}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.yml"
        file.write_text(json.dumps({"policies": [policy]}))
        sys.argv = ["custodian", "run", "--cache-period", "0", "--output-dir", folder, str(file)]
        try:
            import_module("c7n.cli").main()
        except SystemExit as ended:
            assert not ended.code, ended


if __name__ == "__main__":
    sys.exit(main())
