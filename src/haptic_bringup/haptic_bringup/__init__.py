"""Command line, experiment runner, recorder and reports of the haptic suite."""
