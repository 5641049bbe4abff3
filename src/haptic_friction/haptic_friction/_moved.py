"""Old paths of modules, which lead to the modules and warn (`haptic_files.moved_modules`)."""

#: path by old path, below the package
MOVED = {
    "batch": "models.batch",
    "classical_bristles": "classical.bristles",
    "classical_thresholds": "classical.thresholds",
    "fitting": "identification.fitting",
    "model": "models.model",
    "model_a": "models.model_a",
    "model_b": "models.model_b",
    "model_c": "models.model_c",
    "model_d": "models.model_d",
    "projection": "laws.projection",
}
