import type { Check } from '../check'
import { ATTACHING } from './attaching'
import { DENIALS } from './denials'
import { EVENTS } from './events'
import { LIMITS } from './limits'
import { STACKS } from './stacks'
import { WATCHING } from './watching'
import { WEB_SOCKETS } from './web-sockets'

/** All questions to AWS, in the order of the table. Those that are asked alone are asked last, in this order. */
export const CHECKS: readonly Check[] = [
  ...DENIALS,
  ...EVENTS,
  ...WEB_SOCKETS,
  ...LIMITS,
  ...ATTACHING,
  ...WATCHING,
  ...STACKS,
]
