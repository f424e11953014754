import { cpus } from 'node:os'

/** The machine, as a report names it. */
export const machine = () => ({ node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cpus: cpus().length })
