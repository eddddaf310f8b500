;; simd.wat: adds four numbers at once; exits with 10.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (call $exit
      (i32x4.extract_lane 0
        (i32x4.add (v128.const i32x4 1 2 3 4) (v128.const i32x4 9 8 7 6))))))
