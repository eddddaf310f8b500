;; stack.wat: calls itself, twice in each call, until there is no stack left.
(module
  (memory (export "memory") 1)
  (func $dive (param i32) (result i32)
    (i32.xor
      (i32.mul (call $dive (i32.add (local.get 0) (i32.const 1))) (i32.const 3))
      (call $dive (i32.add (local.get 0) (i32.const 2)))))
  (func (export "_start") (drop (call $dive (i32.const 0)))))
