#!/usr/bin/env python3
"""bless.py - record what ONNX Runtime answers for the zoo (needs onnxruntime, numpy, onnx).

    bless.py BIN [small|full] [NAME...]      BIN: the folder with zoofill and outcheck

Writes tests/zoo/SET/NAME/output_K.pb, or output_K.sample where the output is over 16 KB. ONNX
Runtime runs with its optimisations off, so that its own rewrites are not taken for the truth.
"""

import glob, os, subprocess, sys, tempfile
import onnx, onnxruntime as ort
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
BIG, SAMPLES = 16 << 10, 512


def tensor(path):
    t = onnx.TensorProto()
    with open(path, "rb") as f:
        t.ParseFromString(f.read())
    return t


def answers(model, inputs):
    """what the reference runtime answers: [(name, array)]"""
    so = ort.SessionOptions()
    so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    so.log_severity_level = 3
    s = ort.InferenceSession(model, so, providers=["CPUExecutionProvider"])
    tensors = [tensor(p) for p in glob.glob(inputs + "/input_*.pb")]
    names = [o.name for o in s.get_outputs()]
    return list(zip(names, s.run(names, {t.name: numpy_helper.to_array(t) for t in tensors})))


def bless(bin_, stripped, out):
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as tmp:
        full, ins, big = tmp + "/m.onnx", tmp + "/in", tmp + "/o.pb"
        subprocess.check_call([bin_ + "/zoofill", stripped, full])
        subprocess.check_call([bin_ + "/zoofill", "--inputs", stripped, ins])
        for k, (name, array) in enumerate(answers(full, ins)):
            raw = numpy_helper.from_array(array, name).SerializeToString()
            small = len(raw) <= BIG
            with open(f"{out}/output_{k}.pb" if small else big, "wb") as f:
                f.write(raw)
            if not small:
                subprocess.check_call(
                    [bin_ + "/outcheck", "--sample", str(SAMPLES), big, f"{out}/output_{k}.sample"]
                )
            print(
                f"{out}: output {k} {name} {list(array.shape)} {'whole' if small else 'sample'}",
                flush=True,
            )


def main(argv):
    if not argv:
        sys.exit(__doc__)
    sets = [a for a in argv[1:] if a in ("small", "full")] or ["small", "full"]
    names = set(argv[1:]) - {"small", "full"}
    for which in sets:
        for stripped in sorted(glob.glob(f"{HERE}/{which}/*.onnx")):
            if not names or os.path.basename(stripped)[:-5] in names:
                bless(argv[0], stripped, stripped[:-5])


if __name__ == "__main__":
    main(sys.argv[1:])
