"""What the reports of several experiments share."""
