"""Studies: one module each, `tau_wall` for `./haptics study tau-wall`, with a `Study` named STUDY."""
