"""Motions of simulated hands: plans of targets, grip and force, one row a period."""
