"""Long tests of the whole suite: faults, bad inputs, long runs, clocks, determinism."""
