import * as v from 'valibot'
import { type Mistake, printed } from '../../../limiter/errors'
import { checkFields, type FieldRules, type Place, report } from '../../../limiter/policies/report'

/** An API as the config table describes it. Requests carry only its id. */
export interface Api {
  readonly id: string
  /** Its name in API Gateway, which need not be unique. */
  readonly name?: string
  /** What operators call it, unique among all. */
  readonly label?: string
}

/** The API and the stage that a request came to, where its event says so. */
export interface ApiStage {
  readonly apiId: string | undefined
  readonly stageName: string | undefined
}

/** One of `apis`: `shop`, `shop/prod`, `*` followed by `/dev`. A missing API or stage matches any. */
interface ScopePattern {
  readonly api?: string
  readonly stage?: string
}

/** For which requests an item holds, where not for all. */
export interface Scope {
  /** Separates the item's counts from those of all others: its word `@shop`, or its own name where it has no word. */
  readonly variant: string
  /**
   * Empty only for an invalid item whose `apis` cannot be parsed: it holds for all requests, and before any other item.
   */
  readonly apis: readonly ScopePattern[]
}

/** An item that may hold for some APIs only, and exist several times for different ones. */
export interface Scoped {
  /** @default it holds for every request that no item with a scope fits */
  readonly scope?: Scope
}

const PATTERN = /^(?:([^/*]{1,255})|\*)(?:\/(?:([\w$-]{1,128})|\*))?$/
const WORD = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** The form of ids that API Gateway makes. A label or a name of this form could be the id of another API. */
const ID = /^[a-z0-9]{10}$/

const LABEL = {
  schema: v.pipe(
    v.string(),
    v.regex(WORD),
    v.check((text) => !ID.test(text)),
  ),
  wanted: 'a label of 1 to 64 letters, digits, ".", "_" or "-", and not 10 lower-case letters and digits, as ids are',
  optional: true,
} as const

/** The field `apis` of tiers, routes and settings. */
export const APIS_FIELD = {
  schema: v.pipe(
    v.array(
      v.pipe(
        v.string(),
        v.check((text) => toPattern(text) !== undefined),
      ),
    ),
    v.minLength(1),
    v.maxLength(32),
  ),
  wanted:
    'a list of 1 to 32 APIs by id, name or label, each with a stage or without, such as [shop, cart/prod, "*/dev"]; without it an item is for all',
  optional: true,
} as const

/** `undefined` for an invalid pattern; `*` alone is invalid, since an item for all APIs needs no scope. */
function toPattern(text: string): ScopePattern | undefined {
  const [, api, stage] = PATTERN.exec(text) ?? []
  return api === undefined && stage === undefined ? undefined : { api, stage }
}

/** Splits an item's key into its name and its word: `free @shop` is another tier `free`, for some APIs. */
export function splitVariant(text: string): readonly [base: string, word: string | undefined] {
  const at = text.lastIndexOf(' @')
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 2)]
}

/**
 * The scope of an item; `undefined` for one that holds for all requests.
 *
 * @param item of which `apis` was checked, and reported where it is invalid.
 */
export function toScope(text: string, item: unknown, place: Place, issues: Mistake[]): Scope | undefined {
  const { apis } = item as { readonly apis?: unknown }
  const [base, word] = splitVariant(text)
  if (word !== undefined && !WORD.test(word))
    report(
      issues,
      'invalid_name',
      `the part after "@" must be 1 to 64 letters, digits, ".", "_" or "-", got ${printed(word)}`,
      place,
    )
  if (apis === undefined) {
    if (word !== undefined)
      report(issues, 'missing_field', `apis is missing: "@${word}" is for some APIs, and must name them`, place)
    return undefined
  }
  return { variant: variantOf(base, word), apis: patternsOf(apis) }
}

/** The scope of an item that is invalid and has no valid version, as far as its `apis` can be parsed. */
export function scopeOfInvalid(text: string, apis: unknown): Scope | undefined {
  const [base, word] = splitVariant(text)
  if (word === undefined && apis === undefined) return undefined
  return { variant: variantOf(base, word), apis: patternsOf(apis) }
}

const patternsOf = (apis: unknown) => (v.is(APIS_FIELD.schema, apis) ? apis.map((one) => toPattern(one)!) : [])

/** `@shop` for an item with a word, `@ free` for one without: no word begins with a space, so these never meet. */
const variantOf = (base: string, word: string | undefined): string => (word === undefined ? `@ ${base}` : `@${word}`)

/** An item's name with its word, as it was written. */
export const scopedName = (base: string, scope: Scope | undefined): string =>
  scope === undefined || scope.variant.startsWith('@ ') ? base : `${base} ${scope.variant}`

/**
 * Finds APIs by what operators may call them. A word means the API with this id, else the one with this label, else
 * those with this name: a name never takes a word from an API that has it as id or label.
 */
export class Apis {
  private readonly byId: ReadonlyMap<string, Api>
  private readonly byWord = new Map<string, Set<string>>()

  constructor(readonly list: readonly Api[] = []) {
    this.byId = new Map(list.map((api) => [api.id, api]))
    for (const { id } of list) this.byWord.set(id, new Set([id]))
    for (const field of ['label', 'name'] as const) {
      const words = new Map<string, Set<string>>()
      for (const { id, [field]: word } of list)
        if (word !== undefined && !ID.test(word)) words.set(word, (words.get(word) ?? new Set()).add(id))
      for (const [word, ids] of words) if (!this.byWord.has(word)) this.byWord.set(word, ids)
    }
  }

  /** How an API is shown to people: by its label, or its id. */
  labelOf(id: string): string {
    return this.byId.get(id)?.label ?? id
  }

  /** Ids of the APIs that this word means; the word itself where it means none. */
  idsOf(word: string): ReadonlySet<string> {
    return this.byWord.get(word) ?? new Set([word])
  }

  /** Whether this word means an API, which need not be in the config table. */
  isCalled(id: string, word: string): boolean {
    return word === id || this.idsOf(word).has(id)
  }
}

/** Above any other fit: an invalid item, of which nobody knows for which requests it is, holds for all. */
const UNKNOWN = 4

/** How well a scope fits a request; 0: not at all. A match of the API outweighs one of the stage. */
function fitOf({ apis: patterns }: Scope, { apiId, stageName }: ApiStage, apis: Apis): number {
  if (patterns.length === 0) return UNKNOWN
  if (apiId === undefined || stageName === undefined) return 0
  const fits = patterns.map(({ api, stage }) => {
    const isMeant = (api === undefined || apis.isCalled(apiId, api)) && (stage === undefined || stage === stageName)
    return isMeant ? (api === undefined ? 0 : 2) + (stage === undefined ? 0 : 1) : 0
  })
  return Math.max(...fits)
}

/**
 * Of items with one name those that hold for a request: the most specific, or several where they fit equally well by
 * mistake; those without a scope where no scope fits.
 */
export function mostSpecific<T extends Scoped>(items: readonly T[], request: ApiStage, apis: Apis): readonly T[] {
  const fits = items.map(({ scope }) => (scope ? fitOf(scope, request, apis) || -1 : 0))
  const most = Math.max(0, ...fits)
  return items.filter((_, i) => fits[i] === most)
}

/** Reports items of one name that fit the same requests equally well. */
export function checkScopes(
  items: readonly (Scoped & { readonly title: string })[],
  apis: Apis,
  place: Place,
  issues: Mistake[],
): void {
  const taken = new Map<string, string>()
  for (const { title, scope } of items) {
    for (const { api, stage = '*' } of scope?.apis ?? []) {
      for (const id of api === undefined ? ['*'] : apis.idsOf(api)) {
        const requests = `${id}/${stage}`
        const other = taken.get(requests) ?? title
        taken.set(requests, other)
        if (other !== title)
          report(
            issues,
            'overlapping_scopes',
            `apis: ${other} and ${title} are both for ${printed(requests)}, and both hold there`,
            place,
          )
      }
    }
  }
}

/** Reports labels that several APIs have, or that are the id of another API. */
export function checkLabels(apis: Apis, place: Place, issues: Mistake[]): void {
  for (const { id, label } of apis.list) {
    const other = [...apis.idsOf(label ?? id)].find((one) => one !== id)
    if (other)
      report(
        issues,
        'duplicate_label',
        `label ${printed(label)} of API ${id} is also the name of API ${other}: each API needs its own`,
        place,
      )
  }
}

const API_ID = /^[\w-]{1,128}$/

/** The fields of an API's item. */
export const API_FIELDS = {
  name: {
    schema: v.pipe(v.string(), v.minLength(1), v.maxLength(1024)),
    wanted: 'a string of 1 to 1024 characters',
    optional: true,
  },
  label: LABEL,
} as const satisfies FieldRules

export function parseApi(id: string, input: unknown, place: Place, issues: Mistake[]): Api | undefined {
  const before = issues.length
  if (!API_ID.test(id))
    report(issues, 'invalid_name', `an API's id must be letters, digits, "-" or "_", got ${printed(id)}`, place)
  const fields = checkFields(input, API_FIELDS, 'an API', place, issues)
  return issues.length === before ? { id, ...fields } : undefined
}
