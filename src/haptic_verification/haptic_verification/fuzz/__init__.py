"""Bad messages, bad files and live changes of parameters on purpose, for tests and the studies of the same names."""
