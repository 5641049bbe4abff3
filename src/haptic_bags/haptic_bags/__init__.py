"""Bags: recording, reading as arrays, comparison, repair and replay."""
