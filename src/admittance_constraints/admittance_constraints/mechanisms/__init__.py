"""Ready mechanisms, one in a module: the three of the paper, and examples of further ones."""

from admittance_constraints.mechanisms.disk_on_sphere import DiskOnSphere, DiskOnSphereAsPrinted
from admittance_constraints.mechanisms.four_bar import FourBar
from admittance_constraints.mechanisms.knife_edge import KnifeEdge
from admittance_constraints.mechanisms.pendulum import Pendulum
from admittance_constraints.mechanisms.point_on_paraboloid import PointOnParaboloid
from admittance_constraints.mechanisms.point_on_surface import PointOnSurface
from admittance_constraints.mechanisms.rolling_disk import RollingDisk
from admittance_constraints.mechanisms.two_link_on_circle import TwoLinkOnCircle

__all__ = [
    "DiskOnSphere",
    "DiskOnSphereAsPrinted",
    "FourBar",
    "KnifeEdge",
    "Pendulum",
    "PointOnParaboloid",
    "PointOnSurface",
    "RollingDisk",
    "TwoLinkOnCircle",
]
