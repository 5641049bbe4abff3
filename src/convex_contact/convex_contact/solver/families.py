"""The families of terms of the cost. A new family is a new module with the functions of `terms`, and its name here."""

from __future__ import annotations

from convex_contact.solver import contact_terms, row_terms

#: families, in the order in which their parts of each sum are added
FAMILIES = (contact_terms, row_terms)
