import { gather } from '../arguments'
import { rangeOf } from '../callers/block-entries'
import { tell } from '../callers/client-changes'
import { foundText, whoHas } from '../callers/hashed-subject'
import { ipv6Prefix } from '../callers/limits'
import { toHash } from '../callers/stored-hash'
import { readKnown } from '../callers/subjects'
import type { Found } from '../callers/whois'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { printed } from '../facade/values'

interface Options extends OutputOptions {
  readonly address?: readonly string[]
}

export const addWhois: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'whois <hash>',
    'Find whose hash the log shows as subject: among the clients, credentials, blocks, routes and APIs of the config table. ' +
      'Addresses of callers are in no table: pass them. The exit code is 1 if no match is found.',
    [
      'sluice whois client~b2o1Mn-4FlWwW4WXswR0D8xtkvgMXe9eFRtaiEtEg2w',
      'sluice whois ip~3q7nxGB6zCjV0Kd1PZ4mTtYbHqv2oRk8sWc5eXyU9La --address 203.0.113.0/24',
    ],
  )
    .option('--address <network>', 'also try each address of this network, at most 65,536; repeatable', gather)
    .action(async (text: string, options: Options) => {
      const hash = toHash(text)
      if (!hash)
        throw new UserError(
          `a hash is a word, "~" or "#" and 43 characters, as in "subject" of the log, got ${printed(text)}`,
        )
      const addresses = (options.address ?? []).map(rangeOf)
      const table = await session.connect(options).configTable()
      const known = await readKnown(table)
      const found = await whoHas(hash, table, known, ipv6Prefix(session), addresses)
      if (found.name === undefined) throw new UserError(`${text} cannot be resolved: ${found.why}`)
      const secret = secretText(found)
      tell(session, options, `${text} is ${foundText(found)}${SAID[secret]}`, {
        hash: text,
        subject: found.name,
        client: found.client ?? null,
        source: found.source,
        secret,
      })

      function secretText({ secret: made }: Found): keyof typeof SAID {
        if (made === undefined) return 'none'
        const now = session.io.clock()
        return made === known.keys.activeAt(now) ? 'active' : made.activeFrom > now ? 'to come' : 'former'
      }
    })
}

/** Of hashes that are not today's, since their counters may be elsewhere by now. */
const SAID = {
  active: '',
  none: '; hashed without a secret',
  former: '; hashed with a former secret',
  'to come': '; hashed with a secret that is not active yet',
} as const
