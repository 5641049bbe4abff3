"""Calls of compiled functions and arrays by their address, in code that Numba compiles; this module needs Numba.

>>> value = call_double(address, (x, y))  # in compiled code
>>> numbers = doubles_at(array.ctypes.data, array.shape)  # in compiled code, while Python keeps the array
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic


def _call_returning(result: types.Type) -> Any:
    """Returns the call of a function with this type of result."""

    @intrinsic
    def call(typing_context: Any, address: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kinds = [context.get_value_type(kind) for kind in signature.args[1]]
            function = ir.FunctionType(context.get_value_type(result), kinds).as_pointer()
            elements = [builder.extract_value(values[1], k) for k in range(len(kinds))]
            return builder.call(builder.inttoptr(values[0], function), elements)

        return result(types.int64, arguments), generate

    return call


#: (address, arguments) calls the function of an integer result at an address (int64) with a tuple of arguments of
#: exactly the types for which it was compiled
call_integer = _call_returning(types.int64)
#: (address, arguments) likewise for a function whose result is a double
call_double = _call_returning(types.float64)


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(types.int64), generate


@njit(inline="always")
def doubles_at(address: int, shape: Any) -> Any:
    """Returns the contiguous array of doubles of this shape at an address, while its owner exists."""
    return carray(_pointer(address), shape)
