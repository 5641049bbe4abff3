"""Tests of the whole suite that take long: faults, bad inputs, long runs, clocks, determinism."""
