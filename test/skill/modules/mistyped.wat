;; mistyped.wat: imports a function of WASI with a type that it does not have.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i64) (result f64)))
  (memory (export "memory") 1)
  (func (export "_start") (drop (call $write (i64.const 1)))))
