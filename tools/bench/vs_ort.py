#!/usr/bin/env python3
"""vs_ort.py - sinter and ONNX Runtime side by side, in one run, on one thread.

    sh tools/bench/vs_ort.sh BUILD [MODEL...]      (makes the environment, then runs this)
    vs_ort.py BUILD [--rounds N] [--threads N] [MODEL...]

MODEL: names of tests/zoo/full (default: resnet50) or .onnx files with an input folder: FILE:DIR.
Both engines load the same file and run on the same inputs; rounds alternate, so that a machine that
slows down slows both. Per engine and model: file to callable (session creation; load_ms of `sinter
bench`) and the run, the least of many. A ratio below 1 means that sinter is faster. Machines differ:
the ratios of one run are what counts.
"""

import argparse, glob, json, os, statistics, subprocess, sys, tempfile, time

import numpy as np
import onnxruntime as ort

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECONDS = 2.0  # of runs per engine and round


def read_pb(path):
    """(name, array) of a TensorProto with raw data, as zoofill writes it"""
    with open(path, "rb") as f:
        raw = f.read()
    at, dims, dtype, name, data = 0, [], 1, "", b""
    while at < len(raw):
        tag, at = varint(raw, at)
        if tag & 7 == 0:
            value, at = varint(raw, at)
            dims, dtype = (dims + [value], dtype) if tag >> 3 == 1 else (dims, value)
        else:
            size, at = varint(raw, at)
            part, at = raw[at : at + size], at + size
            name, data = (part.decode(), data) if tag >> 3 == 8 else (name, part)
    return name, np.frombuffer(
        data, {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_}[dtype]
    ).reshape(dims)


def varint(raw, at):
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at


def measure_ort(model, inputs, threads):
    """(ms from file to callable, least ms of a run)"""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    feed = dict(read_pb(p) for p in glob.glob(inputs + "/input_*.pb"))
    start = time.perf_counter()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    load, runs, end = time.perf_counter() - start, [], time.perf_counter() + SECONDS
    while len(runs) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        session.run(None, feed)
        runs.append(time.perf_counter() - start)
    return 1e3 * load, 1e3 * min(runs)


def measure_sinter(command, model, inputs, threads):
    """the same for sinter; the line of the fused mode"""
    argv = [
        command,
        "bench",
        model,
        "--input",
        inputs,
        "--threads",
        str(threads),
        "--format",
        "json",
    ]
    out = subprocess.run(argv, stdout=subprocess.PIPE, check=True, text=True).stdout
    line = next(o for o in map(json.loads, out.splitlines()) if o.get("fused"))
    return line["load_ms"], line["min_ms"]


def zoo_model(build, name, tmp):
    """the full model and its inputs"""
    fill, stripped = f"{build}/tests/zoo-tools/zoofill", f"{ROOT}/tests/zoo/full/{name}.onnx"
    model, inputs = f"{tmp}/{name}.onnx", f"{tmp}/{name}_inputs"
    subprocess.check_call([fill, stripped, model])
    subprocess.check_call([fill, "--inputs", stripped, inputs])
    return model, inputs


def compare(command, name, model, inputs, a):
    """measures one model and prints its two lines"""
    rounds = []
    for k in range(a.rounds):
        engines = [
            lambda: measure_ort(model, inputs, a.threads),
            lambda: measure_sinter(command, model, inputs, a.threads),
        ]
        got = {i: engines[i]() for i in ((0, 1) if k % 2 == 0 else (1, 0))}
        rounds.append((*got[0], *got[1]))
    # Loading is measured once a round: the median; a run many times: the least.
    load = [statistics.median(r[i] for r in rounds) for i in (0, 2)]
    run = [min(r[i] for r in rounds) for i in (1, 3)]
    for what, sinter, rival in (
        ("file to callable", load[1], load[0]),
        ("run", run[1], run[0]),
    ):
        print(
            f"{name:<18} {what:<17} sinter {sinter:9.3f} ms   onnxruntime {rival:9.3f} ms"
            f"   ratio {sinter / rival:5.2f}",
            flush=True,
        )


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("build")
    ap.add_argument("models", nargs="*", default=["resnet50"])
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--threads", type=int, default=1)
    a = ap.parse_intermixed_args()
    a.build = os.path.abspath(a.build)
    print(f"ONNX Runtime {ort.__version__}, {a.threads} thread(s), {a.rounds} rounds")
    with tempfile.TemporaryDirectory() as tmp:
        for name in a.models:
            model, _, inputs = name.partition(":")
            if not inputs:
                model, inputs = zoo_model(a.build, name, tmp)
            compare(f"{a.build}/sinter", os.path.basename(name), model, inputs, a)


if __name__ == "__main__":
    sys.exit(main())
