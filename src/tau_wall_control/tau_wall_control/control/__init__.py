"""The controllers: schemes, linearised model, design, control law. See the README of the package."""
