"""The start of nodes and loops: matched publishers, waiting without blocking, the handshake before tick 0."""
