"""How many bytes a number of each dtype takes in memory. Needs no NumPy."""

from __future__ import annotations

BYTES = {
    **dict.fromkeys(("complex128",), 16),
    **dict.fromkeys(("float64", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float32", "int32", "uint32", "qint32"), 4),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16", "qint16", "quint16"), 2),
    **dict.fromkeys(
        (
            "bool",
            "int8",
            "uint8",
            "qint8",
            "quint8",
            "int4",
            "uint4",
            "float8_e5m2",
            "float8_e4m3fn",
        ),
        1,
    ),
}
