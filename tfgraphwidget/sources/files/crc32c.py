"""The checksum of checkpoints: CRC-32C, in numpy, at some hundred megabytes in a second.

Most values of a checkpoint are small: those are taken byte by byte, in microseconds.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numpy as np

_POLYNOMIAL = 0x82F63B78
_ONES = np.uint32(0xFFFFFFFF)
_SHORT = 1 << 14  # bytes that a loop is done with sooner than numpy
_BLOCK = 1 << 24  # bytes that are worked on at a time
_LANES = 1 << 12  # parts of a block of which each takes its next two bytes in one numpy operation
_MANY_LANES = 1 << 14  # of a large block: fewer operations, and more to join after them
# pairs of bytes of each lane that are brought side by side at a time, while they are in the cache
_COLUMNS = 64
_MASK = 0xA282EAD8

Words = np.ndarray[tuple[int], np.dtype[np.uint32]]
Bytes: TypeAlias = "bytes | memoryview | np.ndarray"


def masked_crc32c(data: Bytes) -> int:
    """The CRC-32C of bytes, masked as TensorFlow stores it.

    Example:
        >>> hex(masked_crc32c(b"123456789"))
        '0xc78ab0e5'
    """
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def crc32c(data: Bytes) -> int:
    """The CRC-32C of bytes.

    The register of a CRC is linear in the bytes, and zeros in front of them leave a register of
    zero as it is: the parts of a block have their registers computed side by side, and each is
    shifted by what comes after it.

    Example:
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'
    """
    if len(data) <= _SHORT:
        return _crc32c_of_few(data)
    values = np.frombuffer(data, np.uint8)
    register = np.array([_ONES])
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        register = _apply(_shift(len(block)), register) ^ _register(block)
    return int(register[0] ^ _ONES)


def _crc32c_of_few(data: Bytes) -> int:
    table, register = _table_of_ints(), 0xFFFFFFFF
    for byte in bytes(data):
        register = table[(register ^ byte) & 0xFF] ^ register >> 8
    return register ^ 0xFFFFFFFF


@cache
def _table_of_ints() -> list[int]:
    return [int(word) for word in _table()]


def _register(block: np.ndarray) -> Words:
    """The register, from zero, after a block of bytes."""
    count = _MANY_LANES if len(block) > _BLOCK // 4 else _LANES
    length = -(-len(block) // (2 * count)) * 2
    lanes = block
    if len(block) < count * length:
        lanes = np.zeros(count * length, np.uint8)
        lanes[len(lanes) - len(block) :] = block
    pairs = lanes.view("<u2").reshape(count, length // 2)
    registers = np.zeros(count, "<u4")
    entries = np.empty(count, np.uint32)
    at = np.empty(count, np.intp)
    low, table = registers.view("<u2")[::2], _table_of_pairs()
    for start in range(0, length // 2, _COLUMNS):
        for column in np.ascontiguousarray(pairs[:, start : start + _COLUMNS].T):
            np.bitwise_xor(low, column, out=at)
            np.right_shift(registers, 16, out=registers)
            table.take(at, out=entries, mode="clip")
            np.bitwise_xor(registers, entries, out=registers)
    shift = _shift(length)
    while len(registers) > 1:
        registers = _apply(shift, registers[::2]) ^ registers[1::2]
        shift = _apply(shift, shift)
    return registers


@cache
def _table() -> Words:
    """The register after each byte, from zero."""
    registers = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        registers = np.where(registers & 1, registers >> 1 ^ _POLYNOMIAL, registers >> 1).astype(
            np.uint32
        )
    return registers


@cache
def _table_of_pairs() -> Words:
    """The register after each pair of bytes, from zero."""
    table, pairs = _table(), np.arange(1 << 16, dtype=np.uint32)
    for _ in range(2):
        pairs = table[pairs & 0xFF] ^ pairs >> 8
    return np.asarray(pairs, np.uint32)


@cache
def _shift(length: int) -> Words:
    """The effect of so many zero bytes on each bit of a register: columns of a GF(2) matrix."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    if length == 0:
        return bits
    if length == 1:
        return np.asarray(_table()[bits & 0xFF] ^ bits >> 8, np.uint32)
    half = _shift(length // 2)
    whole = _apply(half, half)
    return _apply(_shift(1), whole) if length % 2 else whole


def _apply(shift: Words, registers: Words) -> Words:
    """The registers, shifted."""
    result = np.zeros(len(registers), np.uint32)
    for bit, image in enumerate(shift):
        result ^= np.where(registers >> np.uint32(bit) & 1, image, 0).astype(np.uint32)
    return result
