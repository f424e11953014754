import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { failureOf } from '../../cli/exit'
import { parseTiers, toYaml } from '../../cli/tiers/tiers-yaml'
import { ConfigError } from '../../limiter/errors'
import type { TierChange } from '../../pages/console/protocol'
import { checkTiersFile, type TiersFile } from '../../provisioning/tiers-file'
import { command } from './commands'
import type { ConsoleOptions } from './console-options'
import { WrongField } from './read-json'

interface ChangeOptions extends Pick<ConsoleOptions, 'engine' | 'env' | 'replaceInstances'> {
  readonly changed: () => void
}

type Policy = Readonly<Record<string, unknown>> & { readonly name?: string }
/** New numbers of a tier's policies, by name. */
export type Limits = Readonly<Record<string, { readonly limit: unknown; readonly window?: unknown }>>

/** Reads tiers from the table, and changes them by `sluice tiers apply`. */
export class TierChanges {
  last: TierChange | null = null
  readonly #options: ChangeOptions
  #queue: Promise<unknown> = Promise.resolve()

  constructor(options: ChangeOptions) {
    this.#options = options
  }

  /** What `sluice tiers export` prints. */
  async read(): Promise<{ readonly file: TiersFile; readonly yaml: string }> {
    const { engine, env } = this.#options
    const { code, out, err } = await command(['tiers', 'export', '--json'], engine.endpoint, env)
    if (code !== 0) throw new Error(err)
    const file = JSON.parse(out) as TiersFile
    const { exported: _, ...shown } = file
    return { file, yaml: toYaml(shown as TiersFile) }
  }

  /**
   * Replaces all tiers, routes and settings.
   *
   * @param before the text before the edit, so that another writer's edit since is detected.
   * @throws WrongField with every mistake; then nothing is written.
   */
  applyYaml(yaml: string, before: unknown): Promise<void> {
    let file: TiersFile
    try {
      file = parseTiers(yaml, 'the tiers')
    } catch (error) {
      throw new WrongField('yaml', failureOf(error).message)
    }
    return this.#apply({ ...file, ...(isTexts(before) && { exported: before }) }, 'yaml')
  }

  /** Changes numbers of one tier. @throws WrongField for the first invalid number. */
  async applyLimits(tier: string, limits: Limits): Promise<void> {
    const { file } = await this.read()
    const tiers = file.tiers as Readonly<Record<string, { readonly policies?: readonly Policy[] }>>
    const was = Object.hasOwn(tiers, tier) ? tiers[tier] : undefined
    if (!was) throw new WrongField('tier', `there is no tier ${JSON.stringify(tier)}`)
    for (const name of Object.keys(limits))
      if (!was.policies?.some((policy) => policy.name === name))
        throw new WrongField('tier', `tier ${JSON.stringify(tier)} has no policy ${JSON.stringify(name)}`)
    const policies = (was.policies ?? []).map((policy) => {
      const given = Object.hasOwn(limits, policy.name ?? '') ? limits[policy.name!] : undefined
      return given
        ? { ...policy, limit: given.limit, ...(given.window !== undefined && { window: given.window }) }
        : policy
    })
    const next = { ...file, tiers: { ...file.tiers, [tier]: { ...was, policies } } }
    try {
      checkTiersFile(next, 'the tiers')
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      throw wrongFieldOf(error.issues)
    }
    await this.#apply(next as TiersFile, 'tier')
  }

  /** Tries again to apply the last change, after an outage of DynamoDB. */
  async retry(): Promise<void> {
    if (this.last?.state === 'applying') await this.#inForce(this.last.at, this.last.message)
  }

  #apply(file: TiersFile, field: string): Promise<void> {
    const applied = this.#queue.then(() => this.#write(file, field))
    this.#queue = applied.catch(() => {})
    return applied
  }

  async #write(file: TiersFile, field: string): Promise<void> {
    const { engine, env } = this.#options
    const folder = mkdtempSync(join(tmpdir(), 'sluice-console-'))
    const path = join(folder, 'tiers.yaml')
    try {
      writeFileSync(path, toYaml(file))
      const args = ['tiers', 'apply', path, '--yes', '--prune', '--json']
      const { code, out, err } = await command(args, engine.endpoint, env)
      if (code !== 0) throw new WrongField(field, err.replaceAll(path, 'the tiers'))
      const message = appliedText(JSON.parse(out) as Applied)
      const at = Date.now()
      // what is still to be in force goes on
      if (message === '' && this.last?.state !== 'applying') return this.#tell({ at, state: 'unchanged', message })
      this.#tell({ at, state: 'applying', message })
      void this.#inForce(at, message)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  /** As after a deployment, no instance remains that has read the tables before. */
  async #inForce(at: number, message: string): Promise<void> {
    try {
      await this.#options.replaceInstances()
      if (this.last?.at === at) this.#tell({ at, state: 'in-force', inForceAt: Date.now(), message })
    } catch (error) {
      const why = failureOf(error).message.split('\n')[0]
      if (this.last?.at === at)
        this.#tell({
          at,
          state: 'applying',
          message: `${message.split('; new')[0]}; new instances did not start: ${why}`,
        })
    }
  }

  #tell(change: TierChange): void {
    this.last = change
    this.#options.changed()
  }
}

/** What `sluice tiers apply --json` prints of the items that it wrote. */
interface Applied {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

/** `tier#free changed`; empty where nothing was written. */
const appliedText = ({ added, changed, removed }: Applied): string =>
  Object.entries({ added, changed, removed })
    .flatMap(([kind, items]) => (items.length > 0 ? [`${items.join(', ')} ${kind}`] : []))
    .join('; ')

/** `limit must be …, got 0 (tier "free", policy "per-minute")` is shown beside that policy's limit. */
function wrongFieldOf(issues: readonly string[]): WrongField {
  const [issue = 'invalid'] = issues
  const policy = /policy "([^"]+)"/.exec(issue)?.[1]
  const field = /^"?(limit|window)\b/.exec(issue)?.[1] ?? (/\bwindow\b/.test(issue) ? 'window' : 'limit')
  return new WrongField(policy === undefined ? 'tier' : `${field} ${policy}`, issue)
}

const isTexts = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string')
