#!/bin/bash
# run.sh: every input that fuzzing has left behind is answered again, without a fuzzer.
exec "$(dirname "$0")/../../fuzz/run.sh" replay
