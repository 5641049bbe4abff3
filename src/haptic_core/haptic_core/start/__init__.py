"""The start of nodes and loops: who is matched, waiting without blocking, the handshake before tick 0."""
