import type { Part } from '../part'
import { bundle } from './bundle'
import { calls } from './calls'
import { config } from './config'
import { contention } from './contention'
import { cpu } from './cpu'
import { denials } from './denials'
import { fleet } from './fleet'
import { leases } from './leases'
import { overhead } from './overhead'
import { scaling } from './scaling'
import { shares } from './shares'
import { simulate } from './simulate'
import { size } from './size'
import { throughput } from './throughput'

/** In the order in which they are measured and shown. */
export const PARTS = {
  calls,
  fleet,
  leases,
  shares,
  denials,
  contention,
  throughput,
  cpu,
  overhead,
  bundle,
  config,
  scaling,
  size,
  simulate,
} as const satisfies Record<string, Part>

export type PartName = keyof typeof PARTS
export const PART_NAMES = Object.keys(PARTS) as PartName[]

/** Measured only where it is asked for by name: it writes a log of five gigabytes. */
export const ONLY_BY_NAME: readonly PartName[] = ['simulate']
