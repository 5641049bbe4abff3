"""Input devices without force: they lead the simulated hand."""
