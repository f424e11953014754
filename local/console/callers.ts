import { GetItemCommand } from '@aws-sdk/client-dynamodb'
import { Session } from '../../cli/command'
import { clientKey } from '../../lambda/config-table/items/config-keys'
import { hashApiKey } from '../../lambda/identity/api-key'
import type { Caller, Look } from '../../pages/console/protocol'
import { TABLES } from '../dynamodb'
import { keysOf } from '../seed'
import { quietIo } from './commands'
import type { ConsoleOptions } from './console-options'
import type { Prefixes } from './item-text'
import { lookAt } from './look'

/** The address of requests of this process without a key. */
const HERE = 'ip:127.0.0.1'

/** The callers that can be chosen on the page, and their state. */
export interface Callers {
  readonly all: readonly Caller[]
  /** A caller's subject, as commands take it. */
  subjectOf(apiKey: string | null): Promise<string>
  /** @throws UserError if the caller cannot be identified. */
  look(apiKey: string | null, request: string): Promise<Look>
}

/**
 * @param know gets the policies of every caller that is read.
 * @param knowShared gets the keys of the items that all callers share.
 */
export function createCallers(
  { tiers, keyHeader, client, engine, env }: ConsoleOptions,
  know: (prefixes: Prefixes) => void,
  knowShared: (keys: readonly string[]) => void,
): Callers {
  const keys = keyHeader === null ? [] : keysOf(tiers)
  const subjectOf = async (apiKey: string | null) => {
    if (apiKey === null || keyHeader === null) return HERE
    const { pk, sk } = clientKey(hashApiKey(apiKey))
    const { Item } = await client.send(
      new GetItemCommand({ TableName: TABLES.config, Key: { pk: { S: pk }, sk: { S: sk } } }),
    )
    return Item?.id?.S === undefined ? HERE : `client:${Item.id.S}`
  }
  return {
    all: [
      { label: 'anonymous (no key)', apiKey: null },
      ...keys.map(({ apiKey, tier }) => ({ label: `${apiKey} (tier ${tier})`, apiKey })),
    ],
    subjectOf,
    async look(apiKey, request) {
      const session = new Session(quietIo(env).io, '')
      try {
        const { look, prefixes } = await lookAt(session, client, engine.endpoint, await subjectOf(apiKey), request)
        const everybody = await lookAt(session, client, engine.endpoint, 'global', request)
        know(prefixes)
        know(everybody.prefixes)
        knowShared(everybody.keys)
        const gauges = everybody.look.gauges.map((one) => ({ ...one, who: 'everybody' }))
        return { ...look, gauges: [...look.gauges, ...gauges], items: [...look.items, ...everybody.look.items] }
      } finally {
        session.close()
      }
    },
  }
}
