import { WriteConflictError } from '../../provisioning/guarded-writes'
import { gather, moment } from '../arguments'
import { checkTier, SOURCES, type Source, sourceKey } from '../callers/client-records'
import { checkOverrides, type OverrideOptions, parseOverrides, withUntil } from '../callers/overrides'
import { newApiKey } from '../callers/signatures'
import { unreadCredentials } from '../callers/unread-credentials'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { EXIT, failureOf, linesOf, ServiceError, UserError } from '../exit'
import { printed } from '../facade/values'
import { readPolicySet } from '../tiers/read-policy-set'

interface Options extends OutputOptions, OverrideOptions, Partial<Record<Source, string>> {
  readonly tier?: string
  readonly name?: string
  readonly notes?: string
  readonly expires?: string
  readonly anotherKey?: boolean
  readonly namespace?: string
}

export const addClientsCreate: AddCommand = (group, session) => {
  withUntil(
    describeTableCommand(
      group,
      'create <id>',
      'Create a client and print its API key, once: only its hash is stored.',
      [
        'sluice clients create acme --tier pro --name "Acme Corp."',
        'sluice clients create acme --another-key',
        'sluice clients create acme --tier pro --api-gateway-key a1b2c3d4e5',
      ],
    )
      .option('--tier <name>', 'tier of the client')
      .option('--name <text>', 'display name')
      .option('--notes <text>', 'free text')
      .option(
        '--override <policy=limit>',
        'replace a limit of the tier: per-minute=600, with a burst per-second=10:20, multiplied per-minute=2x; repeatable',
        gather,
      ),
  )
    .option('--expires <when>', 'when its key expires: 30d, 2027-01-31T00:00:00Z')
    .option('--another-key', 'add a key to an existing client, with the same tier and limits')
    .option('--api-gateway-key <id>', 'identify it by the id of an API Gateway key, without a generated key')
    .option('--user <sub>', 'identify it by the subject of its tokens')
    .option('--certificate <fingerprint>', 'identify it by the SHA-256 fingerprint of its certificate')
    .option('--caller <id>', 'identify it by a token’s clientClaim or a trusted value')
    .option('--namespace <name>', 'of --user or --caller: the issuer’s namespace, unless it is the first issuer')
    .action(async (id: string, options: Options) => {
      if (id === '' || id.length > 256)
        throw new UserError(`the id must be a string of 1 to 256 characters, got ${printed(id)}`)
      const sources = (Object.keys(SOURCES) as Source[]).filter((source) => options[source] !== undefined)
      if (sources.length > 1) throw new UserError('give one credential at a time: add others with --another-key')
      const table = await session.connect(options).configTable()
      const fields = options.anotherKey ? await fieldsOfExisting(id, options) : await fieldsOfNew(id, options)
      const items = (await table.policySet()).map((stored) => stored.item)
      const { settings } = readPolicySet(items).configuration.policies
      const [source] = sources
      if (source === undefined && options.namespace !== undefined)
        throw new UserError('--namespace needs --user or --caller')
      const made = source === undefined ? await newApiKey(table, session.io.clock()) : undefined
      const key = made?.key ?? sourceKey(source!, options[source!]!, options.namespace)
      const item = {
        ...fields,
        ...key,
        ...(options.expires !== undefined && { expiresAt: moment(options.expires, '--expires', session.io.clock) }),
      }
      await session.io.interrupts.during(async () => {
        await table.write([...(made ? [made.signature] : []), { key, after: item }]).catch((error) => {
          if (error instanceof WriteConflictError)
            throw new UserError(
              `another client already uses this ${source === undefined ? 'API key' : SOURCES[source]}`,
            )
          // The write may have succeeded, and then nobody knows the key.
          throw failureOf(error).code === EXIT.service
            ? new ServiceError([...linesOf(error), `check whether it was created: sluice clients get ${id}`])
            : error
        })
        for (const warning of unreadCredentials(settings.identity, [{ item: { ...key, id }, exact: item }]))
          session.print.note(`warning: ${warning}`)
        const shown = made && { apiKey: made.apiKey, signedBy: made.signedBy }
        if (options.json) return session.print.json({ id, tier: fields.tier, ...shown })
        session.print.note(`client ${printed(id)} is created, tier ${printed(fields.tier)}`)
        if (!made) return
        session.print.note(`its API key, signed (${made.signedBy}) and shown only once:`)
        session.print.line(made.apiKey)
      })

      async function fieldsOfNew(id: string, options: Options) {
        const { tier, name, notes, override } = options
        if (tier === undefined) throw new UserError('--tier is missing: the client needs a tier')
        await checkTier(table, tier)
        const [existing] = await table.clients(id)
        if (existing)
          throw new UserError(`client ${printed(id)} exists: add a key with sluice clients create ${id} --another-key`)
        const overrides = parseOverrides(options, session.io.clock())
        if (override) await checkOverrides(table, id, tier, overrides, Object.keys(overrides))
        return { id, tier, name, notes, ...(override && { overrides }) }
      }

      async function fieldsOfExisting(id: string, options: Options): Promise<Record<string, unknown>> {
        for (const field of ['tier', 'name', 'notes', 'override', 'until'] as const) {
          if (options[field] !== undefined)
            throw new UserError(
              `--${field} cannot be used with --another-key: change it for all keys with sluice clients set`,
            )
        }
        const records = await table.clients(id)
        // Prefer a key that is not in its grace period.
        const existing = records.find(({ item }) => item.expiresAt === undefined) ?? records[0]
        if (!existing) throw new UserError(`there is no client ${printed(id)}: omit --another-key`)
        return existing.exact
      }
    })
}
