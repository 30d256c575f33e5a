"""The IAM policies that Freehold needs, made from the operations in use, and sessions bound to one owner's deletes."""
