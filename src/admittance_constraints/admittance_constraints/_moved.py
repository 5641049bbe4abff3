"""Old paths of modules and old names, which lead to the present ones and warn (`haptic_files.moved_modules`)."""

#: old names of modules, by the folder that has the modules now
_FOLDERS = {
    "model": "consistency definition drawing linkage loading mechanism symbolic system wrenches",
    "dynamics": "accelerations chart compiled integrators kernels",
    "generation": "friction reference_generator",
    "display": "controller end_effector external factory feedback",
}
#: old name of a module -> its path below the package
MOVED = {name: f"{folder}.{name}" for folder, names in _FOLDERS.items() for name in names.split()}

#: new name by old name, of the package
RENAMED = {"Placement": "admittance_constraints:DisplayTransform"}
