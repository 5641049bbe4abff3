"""Reports of the experiments, and studies of the papers."""
