"""A program that runs CoACD; :mod:`convex_contact.model.decomposition` starts it as a process."""

import resource
import sys

#: memory that the search may take [bytes]
MEMORY = 8 * 2**30


def main(given: str, found: str, concavity: str) -> None:
    """Reads vertices and triangles of an npz file, and writes the vertices of each part to another.

    Args:
        given: path of the mesh.
        found: path of the parts, arrays "0000", "0001", and so on.
        concavity: of :func:`~convex_contact.model.decomposition.convex_parts`.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import coacd
    import numpy as np

    with np.load(given) as arrays:
        mesh = coacd.Mesh(arrays["vertices"], arrays["triangles"])
    parts = coacd.run_coacd(mesh, threshold=float(concavity), seed=0)
    if not parts:
        raise ValueError("no parts")
    np.savez(found, **{f"{i:04}": vertices for i, (vertices, _) in enumerate(parts)})


if __name__ == "__main__":
    main(*sys.argv[1:])
