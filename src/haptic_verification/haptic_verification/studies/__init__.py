"""Studies of the suite itself: one module per study, with its STUDY."""
