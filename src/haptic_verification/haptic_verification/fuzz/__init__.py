"""Deliberately bad messages and files, and live changes of parameters, for tests and the studies of the same names."""
