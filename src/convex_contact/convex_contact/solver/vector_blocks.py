"""Operations on blocks of 6 velocities (free bodies) as straight-line vector code.

Numba's loops over six columns become scalar code with tests between; these intrinsics emit LLVM's vectors of six
doubles, which the compiler maps to the instructions of the processor: an update C -= A^T B takes about a quarter of the
time. The general loops, with the same meaning, are in `blocks`. `add_product` rounds once, and nothing is left to the
compiler's choice: the results are the same bits in every function that contains the code.

Offsets are those of blocks in flat float64 arrays; rows of a block are consecutive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_DOUBLE = ir.DoubleType()
_SIX = ir.VectorType(_DOUBLE, 6)


class _Code:
    """Emitter of the arithmetic of one intrinsic, whose arguments are referred to by number."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.builder, self.signature, self.arguments = context, builder, signature, arguments

    def pointer(self, array: int, offset: int, add: int = 0) -> Any:
        kind = self.signature.args[array]
        data = self.context.make_array(kind)(self.context, self.builder, self.arguments[array]).data
        index = self.builder.add(self.arguments[offset], ir.Constant(self.arguments[offset].type, add))
        return self.builder.gep(data, [index])

    def vector(self, array: int, offset: int, add: int = 0) -> Any:
        p = self.builder.bitcast(self.pointer(array, offset, add), _SIX.as_pointer())
        return self.builder.load(p, align=8)

    def store(self, value: Any, array: int, offset: int, add: int = 0) -> None:
        p = self.builder.bitcast(self.pointer(array, offset, add), _SIX.as_pointer())
        self.builder.store(value, p, align=8)

    def scalar(self, array: int, offset: int, add: int = 0) -> Any:
        return self.builder.load(self.pointer(array, offset, add))

    def store_scalar(self, value: Any, array: int, offset: int, add: int = 0) -> None:
        self.builder.store(value, self.pointer(array, offset, add))

    def element(self, vector: Any, i: int) -> Any:
        return self.builder.extract_element(vector, ir.Constant(ir.IntType(32), i))

    def spread(self, x: Any) -> Any:
        one = self.builder.insert_element(ir.Constant(_SIX, ir.Undefined), x, ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), 6), [0] * 6)
        return self.builder.shuffle_vector(one, ir.Constant(_SIX, ir.Undefined), mask)

    def add(self, x: Any, y: Any) -> Any:
        return self.builder.fadd(x, y)

    def times(self, x: Any, y: Any) -> Any:
        return self.builder.fmul(x, y)

    def negative(self, x: Any) -> Any:
        return self.builder.fneg(x)

    def add_product(self, x: Any, y: Any, z: Any) -> Any:
        """Emits x + y z, rounded once."""
        name = "llvm.fma.v6f64" if x.type == _SIX else "llvm.fma.f64"
        kind = ir.FunctionType(x.type, [x.type] * 3)
        fused = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(fused, [y, z, x])

    def combination(self, factors: Sequence[Any], vectors: Sequence[Any], start: Any = None) -> Any:
        """Emits the sum of scalars times vectors, plus `start`."""
        total = start
        for x, v in zip(factors, vectors, strict=True):
            total = self.times(self.spread(x), v) if total is None else self.add_product(total, self.spread(x), v)
        return total

    def total(self, vector: Any) -> Any:
        """Emits the sum of the elements."""
        parts = [self.element(vector, i) for i in range(6)]
        sums = [self.add(parts[i], parts[i + 3]) for i in range(3)]
        return self.add(self.add(sums[0], sums[1]), sums[2])


_N = types.intp


@intrinsic
def subtract_product6(context, D, c, a, b):  # type: ignore[no-untyped-def]
    """Subtracts A^T B from C, for blocks (6, 6) at the offsets c, a, b of D."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder, signature, arguments)
        B = [code.vector(0, 3, 6 * k) for k in range(6)]
        A = [code.negative(code.vector(0, 2, 6 * k)) for k in range(6)]
        rows = []
        for r in range(6):
            rows.append(code.combination([code.element(A[k], r) for k in range(6)], B, code.vector(0, 1, 6 * r)))
        for r in range(6):
            code.store(rows[r], 0, 1, 6 * r)
        return context.get_dummy_value()

    return types.void(D, _N, _N, _N), emit


@intrinsic
def lower_times6(context, D, h, L, l):  # type: ignore[no-untyped-def]  # noqa: E741
    """Replaces H by L H, for H (6, 6) at offset h of D, L (6, 6) lower triangular at l."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder, signature, arguments)
        H = [code.vector(0, 1, 6 * k) for k in range(6)]
        for r in range(6):
            row = code.combination([code.scalar(2, 3, 6 * r + k) for k in range(r + 1)], H[: r + 1])
            code.store(row, 0, 1, 6 * r)
        return context.get_dummy_value()

    return types.void(D, _N, L, _N), emit


@intrinsic
def subtract_transposed6(context, D, a, x, s, y, t):  # type: ignore[no-untyped-def]
    """Subtracts A^T x from y, for A (6, 6) at offset a of D, x (6,) at s, y (6,) at t."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder, signature, arguments)
        A = [code.vector(0, 1, 6 * k) for k in range(6)]
        x = [code.negative(code.scalar(2, 3, k)) for k in range(6)]
        code.store(code.combination(x, A, code.vector(4, 5)), 4, 5)
        return context.get_dummy_value()

    return types.void(D, _N, x, _N, y, _N), emit


@intrinsic
def subtract_times6(context, D, a, x, s, y, t):  # type: ignore[no-untyped-def]
    """Subtracts A x from y, for A (6, 6) at offset a of D, x (6,) at s, y (6,) at t."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder, signature, arguments)
        X = code.vector(2, 3)
        for r in range(6):
            part = code.negative(code.total(code.times(code.vector(0, 1, 6 * r), X)))
            code.store_scalar(code.add(code.scalar(4, 5, r), part), 4, 5, r)
        return context.get_dummy_value()

    return types.void(D, _N, x, _N, y, _N), emit


@intrinsic
def lower_times_vector6(context, L, l, x, s):  # type: ignore[no-untyped-def]  # noqa: E741
    """Replaces x by L x, for L (6, 6) lower triangular with zeros above at offset l, x (6,) at s."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder, signature, arguments)
        X = code.vector(2, 3)
        for r in range(6):
            code.store_scalar(code.total(code.times(code.vector(0, 1, 6 * r), X)), 2, 3, r)
        return context.get_dummy_value()

    return types.void(L, _N, x, _N), emit


@intrinsic
def transposed_lower_times_vector6(context, L, l, x, s):  # type: ignore[no-untyped-def]  # noqa: E741
    """Replaces x by L^T x, for L (6, 6) lower triangular with zeros above at offset l, x (6,) at s."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder, signature, arguments)
        rows = [code.vector(0, 1, 6 * k) for k in range(6)]
        code.store(code.combination([code.scalar(2, 3, k) for k in range(6)], rows), 2, 3)
        return context.get_dummy_value()

    return types.void(L, _N, x, _N), emit


@intrinsic
def add_three_rows6(context, J, j, a, b, c, x, s):  # type: ignore[no-untyped-def]
    """Adds J^T (a, b, c) to x (6,) at offset s, for J (3, 6) at offset j."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder, signature, arguments)
        rows = [code.vector(0, 1, 6 * k) for k in range(3)]
        code.store(code.combination(arguments[2:5], rows, code.vector(5, 6)), 5, 6)
        return context.get_dummy_value()

    number = types.float64
    return types.void(J, _N, number, number, number, x, _N), emit


@intrinsic
def three_rows_times6(context, J, j, v, s):  # type: ignore[no-untyped-def]
    """Returns the three components of J v, for J (3, 6) at offset j, v (6,) at s."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder, signature, arguments)
        V = code.vector(2, 3)
        parts = [code.total(code.times(code.vector(0, 1, 6 * r), V)) for r in range(3)]
        return cgutils.pack_array(builder, parts)

    return types.UniTuple(types.float64, 3)(J, _N, v, _N), emit


@intrinsic
def three_rows_times66(context, J, j, v, s, t):  # type: ignore[no-untyped-def]
    """Returns the three components of Ja v_a + Jb v_b, for Ja (3, 6) followed by Jb (3, 6), v_a at s and v_b at t."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder, signature, arguments)
        V, W = code.vector(2, 3), code.vector(2, 4)
        parts = []
        for r in range(3):
            first, second = code.vector(0, 1, 6 * r), code.vector(0, 1, 18 + 6 * r)
            parts.append(code.total(code.add_product(code.times(first, V), second, W)))
        return cgutils.pack_array(builder, parts)

    return types.UniTuple(types.float64, 3)(J, _N, v, _N, _N), emit


@intrinsic
def add_congruence6(context, D, h, J, a, b, g11, g12, g22, g13, g23, g33):  # type: ignore[no-untyped-def]
    """Adds Ja^T G Jb to H (6, 6) at offset h of D, for Ja (3, 6) at a and Jb (3, 6) at b of J."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder, signature, arguments)
        n11, n12, n22, n13, n23, n33 = arguments[5:]
        Ja = [code.vector(2, 3, 6 * k) for k in range(3)]
        Jb = [code.vector(2, 4, 6 * k) for k in range(3)]
        GJ = [code.combination(row, Jb) for row in ([n11, n12, n13], [n12, n22, n23], [n13, n23, n33])]
        rows = []
        for r in range(6):
            rows.append(code.combination([code.element(Ja[k], r) for k in range(3)], GJ, code.vector(0, 1, 6 * r)))
        for r in range(6):
            code.store(rows[r], 0, 1, 6 * r)
        return context.get_dummy_value()

    n = types.float64
    return types.void(D, _N, J, _N, _N, n, n, n, n, n, n), emit


@intrinsic
def inverse_factor6(context, D, h, L, l, floor, f):  # type: ignore[no-untyped-def]  # noqa: E741
    """Computes L = U^-T with H = U^T U from the upper half of H (6, 6); pivots not above `floor` are replaced by it."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder, signature, arguments)
        root = builder.module.declare_intrinsic("llvm.sqrt", [_DOUBLE])
        one = ir.Constant(_DOUBLE, 1.0)
        H = [[code.scalar(0, 1, 6 * r + c) if c >= r else None for c in range(6)] for r in range(6)]
        inverse: list[Any] = []
        for j in range(6):
            least = code.scalar(4, 5, j)
            pivot = builder.select(builder.fcmp_ordered(">", H[j][j], least), H[j][j], least)
            inverse.append(builder.fdiv(one, builder.call(root, [pivot])))
            for c in range(j + 1, 6):
                H[j][c] = code.times(H[j][c], inverse[j])
            for r in range(j + 1, 6):
                x = code.negative(H[j][r])
                for c in range(r, 6):
                    H[r][c] = code.add_product(H[r][c], x, H[j][c])
        zero = ir.Constant(_DOUBLE, 0.0)
        for c in range(6):
            column: dict[int, Any] = {c: inverse[c]}
            for r in range(c + 1, 6):
                total = code.times(H[c][r], column[c])
                for k in range(c + 1, r):
                    total = code.add_product(total, H[k][r], column[k])
                column[r] = code.negative(code.times(total, inverse[r]))
            for r in range(6):
                code.store_scalar(column.get(r, zero), 2, 3, 6 * r + c)
        return context.get_dummy_value()

    return types.void(D, _N, L, _N, floor, _N), emit
