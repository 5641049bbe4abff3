"""Old paths of modules, which lead to the modules and warn (`haptic_files.moved_modules`)."""

#: path by old path, below the package
MOVED = {
    "controller": "control.controller",
    "design": "control.design",
    "drawing": "walls.drawing",
    "factory": "walls.factory",
    "guard": "walls.guard",
    "holding": "walls.holding",
    "horizon": "control.horizon",
    "kernels": "device.kernels",
    "laws": "control.laws",
    "limits": "simulation.limits",
    "linearisation": "control.linearisation",
    "monte_carlo": "simulation.monte_carlo",
    "options": "control.options",
    "parameters": "device.parameters",
    "pinocchio_model": "device.pinocchio_model",
    "rotations": "device.rotations",
    "urdf": "device.urdf",
    "wall_filter": "walls.wall_filter",
    "workspace": "device.workspace",
    "z_width": "simulation.z_width",
}
