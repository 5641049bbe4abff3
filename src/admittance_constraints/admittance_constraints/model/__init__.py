"""Mechanisms: the statements of a user, the functions of the paper derived from them, and their checks."""
