;; divide.wat: divides by zero.
(module
  (memory (export "memory") 1)
  (global $zero (mut i32) (i32.const 0))
  (func (export "_start") (global.set $zero (i32.div_s (i32.const 1) (global.get $zero)))))
