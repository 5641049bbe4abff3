"""The reference that a display follows: Algorithm 1 in readable form, and the compiled generator that runs."""
