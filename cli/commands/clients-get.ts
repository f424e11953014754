import { credentialOf, recordsOf, stateOf } from '../callers/client-records'
import { listText, standingsIn } from '../callers/client-standing'
import { afterwards, overridesText, withoutPolicy } from '../callers/overrides'
import { kindOf, signaturesOf, signedByOf } from '../callers/signatures'
import { usageKeyText, withoutSecrets } from '../callers/usage-key'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { printed } from '../facade/values'
import { readPolicySet } from '../tiers/read-policy-set'

export const addClientsGet: AddCommand = (group, session) => {
  describeTableCommand(group, 'get <id>', 'Show a client and its credentials: of API keys the beginning of the hash.', [
    'sluice clients get acme',
  ]).action(async (id: string, options: OutputOptions) => {
    const { print, io } = session
    const table = await session.connect(options).configTable()
    const records = await recordsOf(table, id)
    const signatures = await signaturesOf(table, records)
    const policySet = (await table.policySet()).map(({ item }) => item)
    const standing = standingsIn(policySet, io.clock())(records[0]!.item)
    const { entry, isTierGone } = standing
    if (options.json) {
      const { pk: _pk, sk: _sk, expiresAt: _expiresAt, disabled: _disabled, ...fields } = records[0]!.item
      const credentials = records.map(({ item }) => ({
        credential: credentialOf(item),
        ...signedByOf(item, signatures),
        disabled: item.disabled === true,
        expiresAt: item.expiresAt ?? null,
      }))
      return print.json({ ...withoutSecrets(fields), ...standing, credentials })
    }
    const { tier, name, notes, overrides, usageIdentifierKey } = records[0]!.item
    const { policies } = readPolicySet(policySet).configuration
    const rows = [
      ['id', id],
      ['tier', `${tier}${isTierGone ? ', which does not exist' : ''}`],
      ['list', entry && listText(entry)],
      ['name', name],
      ['overrides', overridesText(overrides, io.clock())],
      ['afterwards', afterwards(policies, String(tier), overrides, io.clock())],
      [
        'warning',
        withoutPolicy(policies, String(tier), overrides, io.clock())
          .map((policy) => `override ${printed(policy)} names no policy of tier ${printed(tier)}`)
          .join(', '),
      ],
      ['usage key', usageKeyText(usageIdentifierKey)],
      ['notes', notes],
      ...records.map(({ item }, i) => [
        i === 0 ? 'credential' : '',
        [credentialOf(item), kindOf(item, signatures), stateOf(item, io.clock())].filter(Boolean).join('  '),
      ]),
    ]
    print.table(
      ['field', 'value'],
      rows.filter((row): row is string[] => typeof row[1] === 'string' && row[1] !== ''),
    )
  })
}
