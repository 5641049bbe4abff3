"""Arrays without reference counting, in code that Numba compiles."""

from __future__ import annotations

from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def borrowed(context, array):  # type: ignore[no-untyped-def]
    """Returns the same array without reference counting, which can cost more than what a short kernel computes.

    Only for an argument of a kernel: Python holds the reference while the kernel runs.
    """

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        view = context.make_array(signature.return_type)(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        return view._getvalue()

    return array(array), codegen
