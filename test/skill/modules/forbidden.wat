;; forbidden.wat: asks for a function that no skill gets.
(module
  (import "env" "system" (func $system (param i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "id\00")
  (func (export "_start") (drop (call $system (i32.const 0)))))
