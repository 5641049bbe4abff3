"""Exact solutions that measurements of the models are compared with, and the measures."""
