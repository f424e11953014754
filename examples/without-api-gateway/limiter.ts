import { createTieredLimiter } from 'sluice/tiered'

/** The tables of a deployment of Sluice; made once, outside the handlers. */
export const limiter = createTieredLimiter({ configTable: 'sluice-config', stateTable: 'sluice-state' })
