import { parseAllDocuments } from 'yaml'
import { parseClientItem } from '../../../lambda/config-table/items/client-item'
import { parsePolicyItem } from '../../../lambda/config-table/items/config-items'
import { parseTiersFile } from '../../../lambda/config-table/items/parse-tiers-file'
import type { Mistake } from '../../../limiter/errors'

/** What a tiers file must have, for examples that show a part of one. */
const TIERS = { anonymous: { by: 'ip', policies: [] }, free: { policies: [] }, pro: { policies: [] } }
const isPartOfTiersFile = (data: object): boolean =>
  Object.keys(data).some((key) => /^(tiers|routes|global|settings)( @|$)/.test(key))

/** What is wrong with a block of YAML: its syntax, and if it is a tiers file, what the product's own parser says. */
export function yamlMistakes(text: string): string[] {
  return parseAllDocuments(text, { logLevel: 'silent' }).flatMap((document) => {
    if (document.errors.length > 0) return document.errors.map(({ message }) => message)
    const data = document.toJS() as unknown
    if (typeof data !== 'object' || data === null || !isPartOfTiersFile(data)) return []
    return mistakesOf(() =>
      parseTiersFile({ ...data, tiers: { ...TIERS, ...(data as { tiers?: object }).tiers } }, 'the block'),
    )
  })
}

/** What is wrong with a block of JSON: its syntax, or if it is an item of the config table, its fields. */
export function jsonMistakes(text: string): string[] {
  const issues: Mistake[] = []
  const mistakes = mistakesOf(() => {
    const data = JSON.parse(text)
    if (data?.pk === 'policy-set') parsePolicyItem(data, issues)
    else if (String(data?.pk).startsWith('client#')) parseClientItem(data, issues)
  })
  return [...mistakes, ...issues.map(String)]
}

function mistakesOf(parse: () => void): string[] {
  try {
    parse()
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}
