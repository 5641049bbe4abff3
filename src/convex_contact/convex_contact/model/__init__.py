"""Description of a world: shapes, materials, bodies, joints, files; and its arrays for compiled code."""
