"""What a simulated hand intends: plans of targets, grip and force, one row a period."""
