;; bounds.wat: writes just behind its only page, where the largest address and the largest offset lead, by one constant each.
(module
  (memory (export "memory") 1 1)
  (func (export "_start")
    (i64.store (i32.const 65528) (i64.const 1)) ;; the last that is its own
    (i64.store offset=4294967295 (i32.const 4294967295) (i64.const 1))))
