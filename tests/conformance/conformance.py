"""conformance.py - runs the ONNX backend tests of the installed wheel through the command.

    conformance.py SINTER RESULTS [-j N] [--only PATTERN] [--timeout S]

Every test runs fused and with --no-fuse; it is right when all outputs of all its data sets are, in
both modes. RESULTS gets a line per test for ratchet.sh. Nothing is skipped: all of the wheel is run.
"""

import argparse, concurrent.futures, fnmatch, glob, os, shutil, subprocess, tempfile

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader

from judge import Wrong, compare, load_value

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
MODES = ((), ("--no-fuse",))
EXPECTED_COUNT = 1914  # of onnx 1.22.0: fewer would mean that tests were lost unnoticed


class Test:
    """one backend test: a folder with model.onnx and data sets, and its tolerance"""

    def __init__(self, kind, case, folder):
        self.name, self.folder = f"{kind}/{case.name}", folder
        self.rtol, self.atol = case.rtol, case.atol


def lay_out_real(case, folder):
    """a folder like the others', for kind "real": the wheel has its outputs, the input is a ramp"""
    source = os.path.join(loader.DATA_DIR, "light", os.path.basename(case.url))
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    shutil.copy(source, os.path.join(folder, "model.onnx"))
    graph = onnx.load(source).graph
    weights = {t.name for t in graph.initializer}
    for k, i in enumerate(i for i in graph.input if i.name not in weights):
        shape = [
            d.dim_value if d.HasField("dim_value") else 1 for d in i.type.tensor_type.shape.dim
        ]
        ramp = (np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32)
        with open(f"{data}/input_{k}.pb", "wb") as f:
            f.write(numpy_helper.from_array(ramp).SerializeToString())
    for k in range(len(graph.output)):
        shutil.copy(f"{source[:-5]}_output_{k}.pb", f"{data}/output_{k}.pb")


def all_tests(tmp):
    """every test of the suite, as folders"""
    tests = []
    for kind in KINDS:
        for case in loader.load_model_tests(kind=kind):
            folder = case.model_dir
            if kind == "real":
                folder = os.path.join(tmp, case.name)
                lay_out_real(case, folder)
            tests.append(Test(kind, case, folder))
    return tests


def run_command(argv, timeout):
    """runs the command; raises Wrong unless it ends with status 0"""
    try:
        p = subprocess.run(
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        raise Wrong(f"no end after {timeout:g} s") from None
    if p.returncode:
        raise Wrong(
            f"status {p.returncode}: {p.stderr.decode(errors='replace').strip()[-200:]}"
        )


def run_set(sinter, test, data, graph, out, timeout):
    """one data set in every mode"""
    n = len(glob.glob(f"{data}/output_*.pb"))
    wanted = [load_value(f"{data}/output_{k}.pb", graph.output[k].type) for k in range(n)]
    for mode in MODES:
        with tempfile.TemporaryDirectory(dir=out) as d:
            try:
                run_command(
                    [
                        sinter,
                        "run",
                        f"{test.folder}/model.onnx",
                        "--input",
                        data,
                        "-o",
                        d + "/",
                        *mode,
                    ],
                    timeout,
                )
                got = len(glob.glob(f"{d}/output_*.pb"))
                if got != n:
                    raise Wrong(f"{got} outputs instead of {n}")
                for k, want in enumerate(wanted):
                    value = load_value(f"{d}/output_{k}.pb", graph.output[k].type)
                    compare(want, value, test.rtol, test.atol, f"output {k}")
            except Wrong as e:
                raise Wrong(f"{' '.join(mode) or 'fused'}: {e}") from None


def run_test(sinter, test, out, timeout):
    """the result line of one test"""
    try:
        sets = sorted(glob.glob(test.folder + "/test_data_set_*"))
        if not sets:
            raise Wrong("it has no data set")
        graph = onnx.load(test.folder + "/model.onnx").graph
        for data in sets:
            run_set(sinter, test, data, graph, out, timeout)
        return f"pass\t{test.name}\t\n"
    except Exception as e:  # an unreadable output file is as wrong as a wrong one
        why = str(e) if isinstance(e, Wrong) else f"{type(e).__name__}: {e}"
        return f"fail\t{test.name}\t{' '.join(why.split())[:300]}\n"


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("sinter")
    ap.add_argument("results")
    ap.add_argument("-j", type=int, default=2)
    ap.add_argument("--only", default="*")
    ap.add_argument("--timeout", type=float, default=60)
    a = ap.parse_args()
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=fast) as tmp, concurrent.futures.ThreadPoolExecutor(
        a.j
    ) as pool:
        tests = all_tests(tmp)
        if len(tests) != EXPECTED_COUNT:
            raise SystemExit(
                f"the wheel has {len(tests)} tests, not {EXPECTED_COUNT}: is it another version?"
            )
        tests = [t for t in tests if fnmatch.fnmatch(t.name, a.only)]
        sinter = os.path.abspath(a.sinter)
        with open(a.results, "w") as f:
            f.writelines(pool.map(lambda t: run_test(sinter, t, tmp, a.timeout), tests))


if __name__ == "__main__":
    main()
