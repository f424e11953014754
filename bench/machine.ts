import { cpus } from 'node:os'

/** What a report says of where it was made. */
export const machine = () => ({ node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cpus: cpus().length })
