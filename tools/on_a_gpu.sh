#!/bin/bash
# Everything that docs/h200.md says of a folder of suites, measured on this machine's GPU (torch and Triton installed).
#
# usage: tools/on_a_gpu.sh FOLDER [SECONDS=550]        FOLDER holds one suite per subfolder
#
# Tests, layers, check, profile and compilation of every suite, several at once; then benches/vs_torch.py, one suite
# after another, with nothing else running. Two tables at the end; logs in $OUT (default ./gpu-logs). Exit status 1 when
# a step fails or time runs out.
set -u
FOLDER=$(cd "$1" && pwd); TOTAL=${2:-550}; BEGIN=$SECONDS
OUT=${OUT:-$PWD/gpu-logs}; mkdir -p "$OUT"
VS=$(cd "$(dirname "$0")/.." && pwd)/benches/vs_torch.py
PY=${PY:-python3}; CORES=$(nproc); [ "$CORES" -gt 16 ] && CORES=16
STEPS="tests layers check profile compile"; bad=0
export OMP_NUM_THREADS=2 TORCHINDUCTOR_COMPILE_THREADS=4
left() { echo $((TOTAL - (SECONDS - BEGIN))); }
limit() { local l; l=$(left); [ "$l" -gt "$1" ] && l=$1; [ "$l" -lt 1 ] && l=1; echo "$l"; }
suites=(); for m in "$FOLDER"/*/manifest.json; do suites+=("$(basename "$(dirname "$m")")"); done
echo "${#suites[@]} suites, $CORES cores: ${suites[*]}"

# 1. torch.compile of every network fills its cache in the background, four at a time.
warm() {
  printf '%s\n' "${suites[@]}" | OMP_NUM_THREADS=1 xargs -P 4 -I{} timeout "$(limit 300)" "$PY" "$VS" --compile-only --seconds 200 "$FOLDER/{}" > "$OUT/warm.log" 2>&1
}
warm & WARM=$!

# 2. tests, layers, check, profile and compilation of each suite in one process chain, several suites at once.
one() {
  cd "$FOLDER/$1" || exit 1
  local log="$OUT/$1"
  for step in "tests run_all_tests.py" "layers test_layers.py" "check run.py --check" "profile run.py --profile" \
    "compile compile.py --jobs 4"; do
    set -- $step; local name=$1; shift
    local t0=$SECONDS
    timeout "$(( $(left) > 5 ? $(limit 280) : 1 ))" "$PY" "$@" > "$log.$name" 2>&1
    echo "$? $((SECONDS - t0))" > "$log.$name.rc"
  done
}
export -f one left limit; export FOLDER OUT PY TOTAL BEGIN
i=0; pids=()
for s in "${suites[@]}"; do
  one "$s" & pids+=($!); i=$((i + 1))
  if [ $((i % 6)) -eq 0 ]; then wait "${pids[@]}"; pids=(); fi
done
[ ${#pids[@]} -gt 0 ] && wait "${pids[@]}"
echo "checks done after $((SECONDS - BEGIN)) s"; wait $WARM; echo "torch compiled after $((SECONDS - BEGIN)) s"

# 3. timings, alone on the device, suite after suite.
each=$(( ($(left) - 15) / ${#suites[@]} )); [ "$each" -gt 40 ] && each=40; [ "$each" -lt 5 ] && each=5
timeout "$(limit 500)" "$PY" "$VS" --seconds "$each" "${suites[@]/#/$FOLDER/}" > "$OUT/vs_torch.log" 2> "$OUT/vs_torch.err" || bad=1

echo; echo "| suite | run_all_tests | test_layers | --check | --profile | compile | seconds |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
for s in "${suites[@]}"; do
  log="$OUT/$s"; row="| $s"
  row+=" | $(tail -1 "$log.tests") | $(tail -1 "$log.layers") | $(grep -o 'float64: .*' "$log.check" | cut -c10-) | $(grep '^launches' "$log.profile" || tail -1 "$log.profile")"
  row+=" | $(tail -1 "$log.compile") | $(for n in $STEPS; do printf '%s:%s ' "$n" "$(tr ' ' / < "$log.$n.rc")"; done)|"
  for n in $STEPS; do grep -qs '^0 ' "$log.$n.rc" || bad=1; done
  echo "$row"
done
echo "(seconds: step:exit status/seconds)"; echo; cat "$OUT/vs_torch.log"
echo "took $((SECONDS - BEGIN)) s of $TOTAL"
exit $bad
