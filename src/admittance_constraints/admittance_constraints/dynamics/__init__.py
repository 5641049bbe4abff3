"""Equations of motion, eqs. (11) to (16), and one time step of them as machine code."""
