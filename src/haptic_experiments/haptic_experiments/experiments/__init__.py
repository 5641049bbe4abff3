"""One module per experiment; each has `analyse(bags) -> Report`."""
