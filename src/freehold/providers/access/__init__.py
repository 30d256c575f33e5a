"""What all accounts of all clouds share: the way of a call from the engine to an SDK.

``ports.py`` is the production port in layers (threads, ``limits.py``, ``audit.py`` with its chain). ``accounts.py``
says what an account is for the controllers; ``served_account.py`` is what every account does alike.
"""
