"""judge.py - when is an output right? ONNX's own rule, made strict.

Shapes and types must be equal, strings equal, numbers within rtol and atol of the test. ONNX's
runner compares sequences by zip, which never notices a missing element, and cannot compare None or
strings inside them; here lengths, kinds and None must agree too.
"""

import numpy as np
import onnx
from onnx import numpy_helper


class Wrong(Exception):
    """the output is not right; the text says why"""


def load_value(path, type_proto):
    """the value in a .pb file of the kind that the graph declares"""
    with open(path, "rb") as f:
        raw = f.read()
    readers = {
        "sequence_type": (onnx.SequenceProto, numpy_helper.to_list),
        "optional_type": (onnx.OptionalProto, numpy_helper.to_optional),
    }
    message, convert = readers.get(
        type_proto.WhichOneof("value"), (onnx.TensorProto, numpy_helper.to_array)
    )
    proto = message()
    proto.ParseFromString(raw)
    return convert(proto)


def compare_tensor(want, got, rtol, atol, where):
    """raises Wrong unless the two arrays agree"""
    if got.shape != want.shape:
        raise Wrong(f"{where}: shape {list(got.shape)} instead of {list(want.shape)}")
    text = [a.dtype.kind in "OU" for a in (want, got)]
    if text[0] != text[1] or not text[0] and got.dtype != want.dtype:
        raise Wrong(f"{where}: type {got.dtype} instead of {want.dtype}")
    try:
        if text[0]:
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
    except AssertionError as e:
        raise Wrong(f"{where}: {' '.join(str(e).split())[:200]}") from None


def kind(value):
    """what to call the value in a message"""
    if value is None:
        return "nothing"
    return "a sequence" if isinstance(value, (list, tuple)) else "a tensor"


def compare(want, got, rtol, atol, where="output"):
    """raises Wrong unless the two values agree: tensors, sequences, optionals that are None"""
    kinds = [kind(want), kind(got)]
    if kinds[0] != kinds[1]:
        raise Wrong(f"{where}: {kinds[1]} instead of {kinds[0]}")
    if kinds[0] == "a sequence":
        if len(want) != len(got):
            raise Wrong(f"{where}: {len(got)} elements instead of {len(want)}")
        for j, (w, g) in enumerate(zip(want, got)):
            compare(w, g, rtol, atol, f"{where}[{j}]")
    elif kinds[0] == "a tensor":
        compare_tensor(want, got, rtol, atol, where)
