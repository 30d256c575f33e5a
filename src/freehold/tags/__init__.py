"""The metadata controller: keeps the tags of cloud resources as ``CloudMetadata`` objects ask for them.

A pass: ``cloud_reconcile`` reads the object and what it refers to, ``find_and_plan`` asks the clouds and plans by
``policy``, ``tag_pass`` approves, records, sends and records again, ``status_writer`` says what came of it. The ledger
of what we wrote (``ledger_store``, ADR 19) is what allows a tag to be changed or removed. How the proposal is read:
docs/reference/metadata-compat.md.
"""
