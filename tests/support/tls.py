"""Nobody here speaks TLS: who may sign for servers need not be read for each client, which takes 15 ms.

For all that look into the environment, `tests/conftest.py` names a file of one authority, which signs nothing.
"""

from __future__ import annotations

import ssl

TRUSTS_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For the `verify` of a client that does not look there."""
