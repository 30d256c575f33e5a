"""``python -m benchmarks [NAME …]``: measure, print the table, write the rows into benchmarks/results.json.

Exit code 1 if a row misses its target by more than it explains."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(prefixes: list[str]) -> int:
    # The harness (the reconcile on a simulated cloud in virtual time) is the tests' own.
    sys.path.insert(0, str(HERE.parent / "tests"))
    from benchmarks import (
        admission,
        aws,
        cli,
        eks,
        fair,
        gc,
        house,
        leaders,
        looks,
        machine,
        operator,
        page,
        powervs,
        real_time,
        renewal,
        restart,
        rows,
        scrape,
        simulated_aws,
        suite,
        tags,
    )

    measured = [
        row
        for name, measure in (
            ("powervs", powervs.measure),
            ("aws", aws.measure),
            ("machine", machine.measure),
            ("eks", eks.measure),
            ("gc", gc.measure),
            ("house", house.measure),
            ("renewal", renewal.measure),
            ("operator", operator.measure),
            ("page", page.measure),
            ("leaders", leaders.measure),
            ("admission", admission.measure),
            ("cli", cli.measure),
            ("looks", looks.measure),
            ("fair", fair.measure),
            ("restart", restart.measure),
            ("scrape", scrape.measure),
            ("real_time", real_time.measure),
            ("tags", tags.measure),
            ("sim", simulated_aws.measure),
            ("suite", suite.measure),
        )
        if not prefixes or name in prefixes
        for row in measure()
    ]
    print(rows.table(measured))
    rows.write(measured, HERE / "results.json", keep_others=bool(prefixes))
    missed, code = rows.verdict(measured)
    if missed:
        print(f"\n{missed}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
