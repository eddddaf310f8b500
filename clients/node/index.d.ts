// index.d.ts: the types of index.js and index.mjs.
import type { ChildProcess, SpawnOptions as NodeSpawnOptions } from 'node:child_process'

/** A path, absolute or of the current directory. */
export type Path = string | URL
export type Scalar = string | number | boolean
/** Keys of `limits` of a policy: `{ timeout: '5s', memory: '1GiB', output: 65536 }`. */
export type Limits = Record<string, string | number>

/** Where the policy of a request comes from. docs/SERVER.md and docs/POLICY.md of abatis explain each. */
export interface PolicyOptions {
  /** A policy as an object, or a policy file's path. */
  policy?: object | Path
  /** A preset or a profile: `dev`, `tool`, `mcp`, `strict`, `guard`, `skill`. */
  preset?: string
  /** What the command may change; the directory it works in if nothing is said. */
  workspace?: Path
  data?: Path
  config?: Path
  limits?: Limits
  /** Milliseconds that the command has. */
  timeout?: number
  /** Any key of a policy, last: `{ 'filesystem.deny': ['/x'] }`. */
  set?: Record<string, Scalar | Scalar[]>
}

/** Where `abatis` is; else the variable ABATIS says so, or it is in PATH. */
export interface ProgramOptions {
  abatis?: string
}

export interface RunOptions extends PolicyOptions, ProgramOptions {
  cwd?: Path
  /** The whole environment; this process's if nothing is said. */
  env?: Record<string, string | undefined>
  /** What the command reads. */
  input?: string | ArrayBuffer | ArrayBufferView
  /** stderr is part of stdout, in the order in which it was written. */
  merge?: boolean
  /** Commands with the same name have `/tmp` and background processes in common. */
  session?: string
  /** What the audit log shall say about it. */
  context?: string
  bestEffort?: boolean
  /** Ends the command; the promise is rejected with the signal's reason when that has happened. */
  signal?: AbortSignal
  /** Reject with CommandFailed unless the command exits with 0. */
  check?: boolean
}

export interface SpawnOptions
  extends PolicyOptions, ProgramOptions, Pick<NodeSpawnOptions, 'cwd' | 'env' | 'stdio' | 'signal' | 'killSignal' | 'detached' | 'windowsHide'> {
  timeout?: number
  /** true: the program and its arguments are a line for /bin/sh. */
  shell?: boolean
  context?: string
  bestEffort?: boolean
  /** Give the command a terminal of its own. */
  pty?: boolean
}

/** A child process that is `abatis run`. */
export interface SandboxedProcess extends ChildProcess {
  /** How the command itself ended, without its output. */
  readonly result: Promise<Result>
}

/** How a command ended, and what held it. */
export declare class Result {
  private constructor(message: object)
  readonly argv: string[]
  readonly exitCode: number | null
  readonly signal: string | null
  /** What it printed; U+FFFD for what is no UTF-8. */
  readonly stdout: string
  readonly stderr: string
  readonly stdoutRaw: Buffer
  readonly stderrRaw: Buffer
  /** How much there was, also of what was cut. */
  readonly stdoutBytes: number
  readonly stderrBytes: number
  readonly durationMs: number
  readonly truncated: boolean
  readonly timedOut: boolean
  readonly cancelled: boolean
  /** The limit that ended it, `limits.timeout` say. */
  readonly limit: string | null
  readonly backend: string
  readonly enforced: string[]
  readonly notEnforced: string[]
  readonly connections: object[]
  readonly connectionsOmitted: number
  /** What the command left and must not: `path`, and `kept_as`, what it is called now. */
  readonly setAside: object[]
  readonly auditId: string | null
  readonly ok: boolean
  /** In words. */
  readonly ended: string
  /** Itself, if it exited with 0; else it throws CommandFailed. */
  check(): this
}

export declare class AbatisError extends Error {}
/** The program was not found, could not be started, or has ended with this request unanswered. */
export declare class ServerError extends AbatisError {}
/** A request was refused: `code` is one of docs/SERVER.md. */
export declare class RequestError extends AbatisError {
  readonly code: string
  readonly errno?: number
}
/** A command that was to exit with 0 did not. */
export declare class CommandFailed extends AbatisError {
  readonly result: Result
}

export interface Probe {
  protocol: number
  version: string
  ready: boolean
  tiers: unknown[]
  host: Record<string, unknown>
}

export declare function run(command: readonly string[], options?: RunOptions): Promise<Result>
export declare function spawn(program: string, options?: SpawnOptions): SandboxedProcess
export declare function spawn(program: string, args: readonly string[], options?: SpawnOptions): SandboxedProcess
export declare function check(access: 'read' | 'write' | 'execute', path: Path, options?: PolicyOptions & ProgramOptions): Promise<{ allowed: boolean; rule: string }>
export declare function explain(options?: PolicyOptions & ProgramOptions & { tier?: string; bestEffort?: boolean }): Promise<Record<string, unknown>>
export declare function probe(options?: ProgramOptions): Promise<Probe>
export declare function endSession(name: string, options?: ProgramOptions): Promise<boolean>
export declare function close(): Promise<void>
