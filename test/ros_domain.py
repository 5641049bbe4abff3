"""ROS domains of the tests: each worker, also of another checkout on this machine, has one of its own."""

from __future__ import annotations

import os
import socket

#: domains whose ports lie below the range that Linux gives to other programs
_DOMAINS = range(1, 101)
#: TCP port on loopback that stands for domain 0
_FIRST_PORT = 28_400
_claims: list[socket.socket] = []


def claim_domain() -> int:
    """The first domain that no other test process on this machine has; it is free again when the process ends."""
    for domain in _DOMAINS:
        claim = socket.socket()
        try:
            claim.bind(("127.0.0.1", _FIRST_PORT + domain))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return domain
    raise RuntimeError(f"all ROS domains from {_DOMAINS[0]} to {_DOMAINS[-1]} are in use by tests")


def worker_domain() -> int:
    """The domain of this worker, which conftest.py claimed."""
    return int(os.environ["ROS_DOMAIN_ID"])
