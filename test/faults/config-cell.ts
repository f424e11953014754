import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_WAIT_MS } from '../../lambda/config-table/refresher'
import type { Fault } from './fault'
import type { Instance } from './instance'
import type { FaultyDynamoDb } from './proxy'
import { isOfTls } from './state-cell'
import { GRACE_MS, isReal, late, type Outcome, type Problem, type Timed, type Trial, timed, wrong } from './trial'
import { DEADLINE_MS, FIRST_DEADLINE_MS, PAID, TABLES, type World } from './world'

/** A fault of the config table at one of its reads. */
export interface ConfigCell {
  readonly fault: Fault
  readonly tries: 'first' | 'every'
  /**
   * Tiers and routes at a new instance, and once more later; a client that is new to the instance, and one that it has
   * known for long.
   */
  readonly reading: 'tiers' | 'tiers again' | 'client' | 'client again'
}

/**
 * - `decided`: for the caller who it is, by the state table.
 * - `anonymous`: a client was counted as an anonymous caller.
 * - `degraded`: by the failure mode, and marked.
 * - `refused`: by a new instance that cannot know who has to show credentials, and marked.
 */
export type ConfigVerdict = 'decided' | 'anonymous' | 'degraded' | 'refused'

const BACK_WITHIN_MS = 15_000

/**
 * Runs a cell: what an instance has read stays in force, and what it has not read it lacks only while the fault lasts.
 */
export class ConfigTrial implements Trial<ConfigVerdict> {
  private instance!: Instance
  private open!: () => Instance
  private table!: FaultyDynamoDb
  private answer!: Timed
  private apiKey: string | undefined
  private readonly ip: string
  private readonly problems: Problem[] = []

  constructor(
    private readonly world: World,
    private readonly cell: ConfigCell,
  ) {
    this.ip = world.address()
  }

  /** A read that a request waits for has its own deadline. */
  private get deadlineMs(): number {
    const { reading, fault } = this.cell
    if (reading === 'tiers') return FIRST_DEADLINE_MS
    const ownMs = reading === 'tiers again' ? MAX_WAIT_MS : DEADLINE_MS
    if (!fault.connection) return ownMs
    // both tables are behind the connection, and what is too old there is waited for
    const tiersMs = reading === 'client again' ? MAX_WAIT_MS : 0
    return tiersMs + ownMs + DEADLINE_MS
  }

  async prepare(): Promise<void> {
    const { cell, world } = this
    const { table, endpoint } = await world.table(isOfTls(cell.fault))
    this.table = table
    this.apiKey = cell.reading.startsWith('client') ? await world.client() : undefined
    const soon = { SLUICE_CONFIG_TTL_MS: '1' }
    this.open = () => world.instance(cell.reading.endsWith('again') ? soon : {}, endpoint)
    if (cell.reading !== 'tiers') this.instance = this.open()
    // The second request brings the copies of what was last valid up to date: no fault is to be spent on that.
    if (cell.reading !== 'tiers') for (let i = 0; i < 2; i++) await this.instance.ask({ ip: world.address() })
    if (cell.reading === 'client again') await this.instance.ask({ ip: world.address(), apiKey: this.apiKey })
    await sleep(50)
    const operations = cell.reading.startsWith('tiers') ? ['Query'] : ['GetItem', 'BatchGetItem']
    const aim = (call: { table: string; operation: string }) =>
      call.table === TABLES.config && operations.includes(call.operation)
    const times = cell.tries === 'first' ? 1 : Infinity
    await table.arm({ fault: cell.fault, aim, applied: true, times, deadlineMs: this.deadlineMs })
  }

  /** A new instance reads the tables as it starts. */
  async meet(): Promise<void> {
    this.instance ??= this.open()
    this.answer = await timed(this.deadlineMs, () => this.instance.ask({ ip: this.ip, apiKey: this.apiKey }))
  }

  async settle(): Promise<Outcome<ConfigVerdict>> {
    await sleep(30)
    const verdict = await this.judge()
    this.table.disarm()
    await this.comeBack()
    await this.table.close()
    return { verdict, problems: this.problems }
  }

  private async judge(): Promise<ConfigVerdict> {
    const { told, thrown, overrunMs } = this.answer
    const { cell, problems, apiKey } = this
    if (!told) {
      problems.push(wrong(`the handler threw ${thrown}`))
      return 'degraded'
    }
    const overrun = Math.round(overrunMs())
    if (overrun > GRACE_MS) problems.push(late(`it came ${overrun} ms after its deadline`))
    if (this.table.metAt === 0) problems.push(wrong('the fault was not met'))
    const hadItsTry = cell.tries === 'first' && !cell.fault.final
    const isKnownAlready = cell.reading.endsWith('again') && !cell.fault.connection
    if (!isReal(told)) {
      if (!told.degraded) problems.push(wrong(`nobody was asked, and it does not say so: ${told.reason}`))
      if (hadItsTry || isKnownAlready) problems.push(late('it could have been decided'))
      if (told.reason !== 'unverified') return 'degraded'
      if (told.allowed || cell.reading !== 'tiers')
        problems.push(wrong(`callers could have been verified: ${told.reason}`))
      return 'refused'
    }
    const charged = {
      ip: await this.world.charged(this.ip),
      client: apiKey === undefined ? 0 : await this.world.chargedToClient(apiKey),
    }
    const isKnown = told.tier === PAID
    const before = cell.reading === 'client again' ? 1 : 0
    const right = isKnown ? { ip: 0, client: before + 1 } : { ip: 1, client: before }
    if (!told.allowed || charged.ip !== right.ip || charged.client !== right.client)
      problems.push(wrong(`it was ${told.reason}, and ${JSON.stringify(charged)} were charged`))
    if (apiKey === undefined || isKnown) return 'decided'
    if (hadItsTry || isKnownAlready) problems.push(late('it could have been known who asks'))
    return 'anonymous'
  }

  /** After the fault, callers are identified again, and decided by the table. */
  private async comeBack(): Promise<void> {
    const giveUpAt = performance.now() + BACK_WITHIN_MS
    while (performance.now() < giveUpAt) {
      const told = await this.instance.ask({ ip: this.world.address(), apiKey: this.apiKey })
      if ((told.tier === PAID) === (this.apiKey !== undefined) && !told.degraded && told.reason !== 'uncounted') return
      await sleep(50)
    }
    this.problems.push(wrong(`not decided again within ${BACK_WITHIN_MS} ms after the fault`))
  }
}
