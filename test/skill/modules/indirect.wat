;; indirect.wat: calls a function through a table as if it had another type.
(module
  (type $plain (func))
  (type $other (func (param i64) (result f64)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $one)
  (func $one (type $plain))
  (func (export "_start")
    (call_indirect (type $plain) (i32.const 0)) ;; as it is: nothing happens
    (drop (call_indirect (type $other) (i64.const 0) (i32.const 0)))))
