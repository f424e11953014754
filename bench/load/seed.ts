import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { clientKey } from '../../lambda/config-table/items/config-keys'
import { hashApiKey } from '../../lambda/identity/api-key'
import { createStateTable } from '../../limiter/stores/state-table'
import { itemsOf } from '../../provisioning/tiers-file'
import { createConfigTable } from '../../tiered/create-config-table'
import { putAll } from '../config-tables'
import type { CountingClient } from '../engine'
import type { Shape } from './shapes'

/**
 * The route of one shape at one target. Each target has its own, so that a policy which all requests share is counted
 * for one target alone.
 */
export const pathOf = (target: string, shape: number): string => `/load/${target}/${shape}`

/** A client's key: its own at each target and in each shape. */
export const keyOf = (target: string, shape: number, client: number): string =>
  `load key ${client} of shape ${shape} at ${target}`

/** A policy for all callers would count the requests to all targets together. */
const ofTarget = (policies: Shape['shared'], target: string) =>
  policies.map((policy) => ({ ...policy, name: `${policy.name}-${target}` }))

/**
 * Writes a tier and a route for each shape, and its clients, into the tables of `npm start`, beside what `npm start`
 * writes itself.
 */
export async function seedShapes(
  client: CountingClient,
  targets: readonly string[],
  shapes: readonly Shape[],
): Promise<void> {
  await createStateTable(client, LOCAL_TABLES.state)
  await createConfigTable(client, LOCAL_TABLES.config)
  const tierOf = (shape: number): string => `load-${shape}`
  const set = itemsOf({
    tiers: Object.fromEntries(shapes.map(({ policies }, shape) => [tierOf(shape), { policies }])),
    routes: Object.fromEntries(
      shapes.flatMap(({ shared }, shape) =>
        targets.map((target) => [`GET ${pathOf(target, shape)}`, { policies: ofTarget(shared, target) }]),
      ),
    ),
  })
  const clients = shapes.flatMap((shape, i) =>
    targets.flatMap((target) =>
      Array.from({ length: shape.clients }, (_, n) => ({
        ...clientKey(hashApiKey(keyOf(target, i, n))),
        id: `load-${target}-${i}-${n}`,
        tier: tierOf(i),
      })),
    ),
  )
  await putAll(client, LOCAL_TABLES.config, [...set, ...clients])
}
