"""Trajectories and joint motions by optimisation."""
