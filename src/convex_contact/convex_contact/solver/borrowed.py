"""The fields of a Numba structref for compiled inner functions, without counting references.

Each array that a compiled function takes out of a structref costs two atomic operations, which is more than the
arithmetic of a small world. A function compiled with ``_nrt=False`` counts no references. It takes ``borrow(w)``, or
from Python a :class:`Borrowed`, reads and writes fields as of the structref itself, and can neither allocate nor
replace an array. The caller keeps the structref alive.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.core import cgutils, errors, imputils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.experimental import structref
from numba.experimental.structref import _Utils
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    lower_setattr_generic,
    register_model,
    unbox,
)


class Field(NamedTuple):
    """One array, or number, of a record.

    Attributes:
        name: name of the field.
        shape: shape, with the letters of the record's description.
        unit: unit of its numbers; "-": none; several units where columns differ.
        meaning: meaning of a row.
    """

    name: str
    shape: str
    unit: str
    meaning: str


class RecordType(types.StructRef):
    """Numba's type of a record; its name has a digest of the fields in place of the fields.

    Numba writes the names of its arguments' types into the name of each compiled function. The fields of a world alone
    take 15 000 characters: such names were three quarters of the compiled code, which a program loads at its start.
    """

    def __init__(self, fields: Any) -> None:
        super().__init__(fields)
        self.name = f"{type(self).__qualname__}_{hashlib.sha256(str(self).encode()).hexdigest()[:16]}"


class Record(structref.StructRefProxy):
    """A structref that compiled code takes as one argument; Numba finds its type without a call of Python code."""

    _numba_type_ = structref.StructRefProxy._type


class BorrowedType(types.Type):
    """Numba's type of the result of :func:`borrow`: the address of a structref's fields."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        super().__init__(name=f"borrowed({owner.name})")


@register_model(BorrowedType)
class _BorrowedModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, borrowed: BorrowedType) -> None:
        fields = manager.lookup(borrowed.owner.get_data_type())
        super().__init__(manager, borrowed, fields.get_value_type().as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = BorrowedType

    def generic_resolve(self, borrowed: BorrowedType, name: str) -> types.Type | None:
        return borrowed.owner.field_dict.get(name)


def _fields(context: Any, builder: Any, borrowed: BorrowedType, address: Any) -> Any:
    return cgutils.create_struct_proxy(borrowed.owner.get_data_type())(context, builder, ref=address)


@lower_getattr_generic(BorrowedType)
def _get(context: Any, builder: Any, borrowed: BorrowedType, address: Any, name: str) -> Any:
    value = getattr(_fields(context, builder, borrowed, address), name)
    return imputils.impl_ret_borrowed(context, builder, borrowed.owner.field_dict[name], value)


@lower_setattr_generic(BorrowedType)
def _set(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    borrowed, kind = signature.args
    field = borrowed.owner.field_dict[name]
    if not isinstance(field, types.Number):
        raise errors.TypingError(f"{name}: expected the structref itself to replace an array, got what was borrowed")
    setattr(_fields(context, builder, borrowed, arguments[0]), name, context.cast(builder, arguments[1], kind, field))


@intrinsic
def borrow(typing_context: Any, w: Any) -> Any:
    """Returns the fields of structref w for functions that do not count references."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _Utils(context, builder, signature.args[0]).get_data_pointer(arguments[0])

    return BorrowedType(w)(w), generate


def _filled(target: np.ndarray, source: np.ndarray) -> np.ndarray:
    if target.shape != source.shape:
        return source.copy()
    target[...] = source
    return target


@intrinsic
def _copy_fields(typing_context: Any, target: Any, source: Any) -> Any:
    """Copies the numbers and the contents of the arrays of a structref to another one of its type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        old, new = (_Utils(context, builder, kind).get_data_struct(argument) for argument in arguments)
        for name, field in kind.field_dict.items():
            value = getattr(new, name)
            if isinstance(field, types.Array):
                values = getattr(old, name), value
                value = context.compile_internal(builder, _filled, field(field, field), values)
                context.nrt.decref(builder, field, values[0])
            setattr(old, name, value)
        return context.get_dummy_value()

    return types.void(target, source), generate


@njit(cache=True)
def copy_fields(target: Any, source: Any) -> None:
    """Makes structref `target` equal to another one of its type; they share no array."""
    _copy_fields(target, source)


@intrinsic
def _address(typing_context: Any, borrowed: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(arguments[0], context.get_value_type(types.uintp))

    return types.uintp(borrowed), generate


@njit(cache=True)
def _address_of(w: Any) -> int:
    return _address(borrow(w))  # type: ignore[no-any-return]


class Borrowed:
    """A borrowed structref for calls of compiled functions from Python; keeps the structref alive.

    Args:
        owner: proxy of the structref.
    """

    __slots__ = ("_numba_type_", "address", "owner")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.address = _address_of(owner)
        self._numba_type_ = BorrowedType(owner._numba_type_)


@unbox(BorrowedType)
def _unbox(borrowed: BorrowedType, instance: Any, c: Any) -> NativeValue:
    number = c.pyapi.object_getattr_string(instance, "address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.bitcast(address, c.context.get_value_type(borrowed)))
