;; pointers.wat: gives its host addresses that are not its own; exits with how many of the 8 attempts were refused.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_get" (func $stat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1 1)
  (global $refused (mut i32) (i32.const 0))
  (func $count (param i32)
    (global.set $refused (i32.add (global.get $refused) (i32.ne (local.get 0) (i32.const 0)))))
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 0xfffffff0)) ;; a buffer that wraps round the end of all addresses
    (i32.store (i32.const 4) (i32.const 0x20))
    (i32.store (i32.const 8) (i32.const 65535)) ;; one that begins inside and ends outside
    (i32.store (i32.const 12) (i32.const 2))
    (call $count (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 64)))
    (call $count (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 64)))
    (call $count (call $write (i32.const 1) (i32.const 0) (i32.const 0x20000000) (i32.const 64))) ;; 2^32 bytes of list
    (call $count (call $read (i32.const 0) (i32.const 65532) (i32.const 1) (i32.const 64)))
    (call $count (call $random (i32.const 65000) (i32.const 0xffffffff)))
    (call $count (call $time (i32.const 0) (i64.const 0) (i32.const 65529)))
    (call $count (call $args (i32.const 65533) (i32.const 0)))
    (call $count (call $stat (i32.const 1) (i32.const 0xffffffff)))
    (call $exit (global.get $refused))))
