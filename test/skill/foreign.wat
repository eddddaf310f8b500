;; foreign.wat: asks for two functions that WASI does not have.
(module
  (import "env" "log" (func (param i32)))
  (import "env" "system" (func (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")))
