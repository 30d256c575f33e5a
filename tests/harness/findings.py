"""What a test has found out and people want to read: ``record_property(FINDING, line)`` shows it below all tests."""

FINDING = "finding"
