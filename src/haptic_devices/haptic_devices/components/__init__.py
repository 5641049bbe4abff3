"""Parts of simulated devices: encoders, force sensor, joint friction and its compensation, robot description."""
