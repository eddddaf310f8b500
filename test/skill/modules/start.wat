;; start.wat: has a start function, which an engine calls before _start, and which writes already.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\08\00\00\00\06\00\00\00early\0a")
  (func $early (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 64))))
  (start $early)
  (func (export "_start")))
