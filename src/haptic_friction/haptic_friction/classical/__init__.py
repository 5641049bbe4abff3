"""Classical friction models, to be compared with models A to D, whose interface they have."""
