import { printed } from '../../limiter/errors'
import { WriteConflictError } from '../../provisioning/guarded-writes'
import { gather, moment } from '../arguments'
import { checkTier, newApiKey, ownKey, SOURCES, type Source, sourceKey } from '../client-records'
import { type AddCommand, type Answering, describeAnswering } from '../command'
import { EXIT, failureOf, ServiceError, UserError } from '../exit'
import { checkOverrides, type Overriding, parseOverrides, withUntil } from '../overrides'

interface Options extends Answering, Overriding, Partial<Record<Source, string>> {
  readonly tier?: string
  readonly name?: string
  readonly notes?: string
  readonly expires?: string
  readonly anotherKey?: boolean
  readonly namespace?: string
}

export const addClientsCreate: AddCommand = (group, session) => {
  withUntil(
    describeAnswering(
      group,
      'create <id>',
      'Make a client, and print its API key: this once, it is stored as a hash only.',
      [
        'sluice clients create acme --tier pro --name "Acme Corp."',
        'sluice clients create acme --another-key',
        'sluice clients create acme --tier pro --api-gateway-key a1b2c3d4e5',
      ],
    )
      .option('--tier <name>', 'the tier that it has')
      .option('--name <text>', 'a name for people')
      .option('--notes <text>', 'anything worth knowing')
      .option(
        '--override <policy=limit>',
        'another limit than the tier’s, per-minute=600, with a burst per-second=10:20, or so many times the tier’s per-minute=2x; repeatable',
        gather,
      ),
  )
    .option('--expires <when>', 'a duration such as 30d, or a time such as 2027-01-31T00:00:00Z')
    .option('--another-key', 'one more key for a client that exists, with what it has')
    .option('--api-gateway-key <id>', 'known by the id of an API Gateway key instead of a generated key')
    .option('--user <sub>', 'known by the subject of its tokens instead of a generated key')
    .option(
      '--certificate <fingerprint>',
      'known by the SHA-256 fingerprint of its client certificate instead of a generated key',
    )
    .option('--caller <id>', 'known by what a token’s clientClaim, or a trusted value, says instead of a generated key')
    .option(
      '--namespace <name>',
      'with --user or --caller: of the issuer, where it is not the first one of settings.identity',
    )
    .action(async (id: string, options: Options) => {
      if (id === '' || id.length > 256)
        throw new UserError(`the id must be a text of 1 to 256 characters, got ${printed(id)}`)
      const sources = (Object.keys(SOURCES) as Source[]).filter((source) => options[source] !== undefined)
      if (sources.length > 1)
        throw new UserError('a client is known by one credential at a time: add others with --another-key')
      const table = await session.connect(options).configTable()
      const fields = options.anotherKey ? await fieldsOfExisting(id, options) : await fieldsOfNew(id, options)
      const [source] = sources
      if (source === undefined && options.namespace !== undefined)
        throw new UserError('--namespace goes with --user or --caller')
      const apiKey = source === undefined ? newApiKey() : undefined
      const key = source === undefined ? ownKey(apiKey!) : sourceKey(source, options[source]!, options.namespace)
      const item = {
        ...fields,
        ...key,
        ...(options.expires !== undefined && { expiresAt: moment(options.expires, '--expires', session.io.clock) }),
      }
      await session.io.interrupts.during(async () => {
        await table.write([{ key, after: item }]).catch((error) => {
          if (error instanceof WriteConflictError)
            throw new UserError(`another client is known by this ${SOURCES[source!]} already`)
          const { code, message } = failureOf(error)
          // The write may have been done all the same, and then nobody knows the key.
          throw code === EXIT.service
            ? new ServiceError(`${message}\nlook whether it was made: sluice clients get ${id}`)
            : error
        })
        if (options.json) return session.print.json({ id, tier: fields.tier, ...(apiKey !== undefined && { apiKey }) })
        session.print.note(`client ${printed(id)} is made, tier ${printed(fields.tier)}`)
        if (apiKey === undefined) return
        session.print.note('its API key, which is not shown again:')
        session.print.line(apiKey)
      })

      async function fieldsOfNew(id: string, options: Options) {
        const { tier, name, notes, override } = options
        if (tier === undefined) throw new UserError('--tier is missing: the tier that the client has')
        await checkTier(table, tier)
        const [existing] = await table.clients(id)
        if (existing)
          throw new UserError(`client ${printed(id)} exists: clients create ${id} --another-key gives it one more key`)
        const overrides = parseOverrides(options, session.io.clock())
        if (override) await checkOverrides(table, id, tier, overrides, Object.keys(overrides))
        return { id, tier, name, notes, ...(override && { overrides }) }
      }

      async function fieldsOfExisting(id: string, options: Options): Promise<Record<string, unknown>> {
        for (const field of ['tier', 'name', 'notes', 'override', 'until'] as const) {
          if (options[field] !== undefined)
            throw new UserError(`--${field} cannot be said with --another-key: clients set changes it for all keys`)
        }
        const records = await table.clients(id)
        // rather no key that is in its grace
        const existing = records.find(({ item }) => item.expiresAt === undefined) ?? records[0]
        if (!existing) throw new UserError(`there is no client ${printed(id)}: leave --another-key out`)
        return existing.exact
      }
    })
}
