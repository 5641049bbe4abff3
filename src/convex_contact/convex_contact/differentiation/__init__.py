"""Derivatives of steps and of simulations with respect to states and parameters."""
