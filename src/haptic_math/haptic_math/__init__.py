"""Mathematics that libraries share: `rotations`, `quantities` (checks of arguments), `profiles`. No ROS import."""
