"""Writes Triton's own IR of kernels that say how they are specialised; needs triton, no GPU.

    pip install triton==3.9.0          # any of 3.2 to 3.9
    python tools/dump_ttir.py OUT tests/kernel/lower/*.py
    TTIR_FOLDER=OUT TRITON=3.9.0 cargo test --lib doors -- --ignored --nocapture

For the i-th `# compile:` line of FILE.py, `OUT/FILE_i_KERNEL.source.ttir` holds the IR before any pass and
`OUT/FILE_i_KERNEL.ttir` what Triton's ttir stage makes of it. The test emulates both and our own lowering of the
same line on the same inputs, and compares what they leave in memory bit for bit. (tools/compare_doors.py does the same
for templates and public kernels.)
"""

import argparse
import os
import pathlib

import triton
from triton_ir import after_the_stage, load, source_ir, specialised, without_folders


def write(out, stem, path, request, source_only):
    name, *words = request.split()
    module = load(path)
    source = specialised(module, getattr(module, name), dict(word.split("=", 1) for word in words))
    text = source_ir(source)
    (out / f"{stem}.source.ttir").write_text(without_folders(text))
    if not source_only:
        (out / f"{stem}.ttir").write_text(without_folders(after_the_stage(text, out)))
        (out / "stage.ttir").unlink()


def apart(work):
    """Why work fails, in a process of its own: Triton's compiler may end its process. Empty where it does not."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        told = "done"
        try:
            work()
        except BaseException as error:  # Kernels of other versions, and what their line cannot say.
            lines = [line for line in str(error).splitlines() if line.strip(" ^")]
            told = lines[-1].strip()[:150] if lines else repr(error)
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    told = os.read(reader, 4096).decode(errors="replace")
    os.close(reader)
    os.waitpid(child, 0)
    return "" if told == "done" else told or "it ends its process"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("files", type=pathlib.Path, nargs="+")
    arguments.add_argument("--source-only", action="store_true", help="leave the ttir stage out")
    options = arguments.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    written, refused = 0, 0
    for path in options.files:
        requests = [line.removeprefix("# compile: ") for line in path.read_text().splitlines() if line.startswith("# compile: ")]
        for index, request in enumerate(requests):
            stem = f"{path.stem}_{index}_{request.split()[0]}"
            why = apart(lambda: write(options.out, stem, path, request, options.source_only))
            written += not why
            refused += bool(why)
            if why:
                print(f"{stem}: {why}")
    print(f"triton {triton.__version__}: {written} written, {refused} refused")


if __name__ == "__main__":
    main()
