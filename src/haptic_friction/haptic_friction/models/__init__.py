"""Models A to D (Kikuuwe et al.), the base of all models, and batches of elements."""
