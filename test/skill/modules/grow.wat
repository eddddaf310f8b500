;; grow.wat: a table that grows to its maximum and no further: 11 if it does.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (table $t 1 1000 funcref)
  (func (export "_start")
    (call $exit
      (i32.add
        (i32.mul (i32.const 10) (i32.eq (table.grow $t (ref.null func) (i32.const 999)) (i32.const 1)))
        (i32.eq (table.grow $t (ref.null func) (i32.const 1)) (i32.const -1))))))
