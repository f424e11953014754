import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault } from './fault'
import type { Instance } from './instance'
import type { FaultyDynamoDb } from './proxy'
import { GRACE_MS, isReal, late, type Outcome, type Problem, type Timed, type Trial, timed, wrong } from './trial'
import { DEADLINE_MS, FIRST_DEADLINE_MS, LIMIT, TABLES, type World } from './world'

/** A fault of the state table at one step of one decision. */
export interface StateCell {
  readonly fault: Fault
  /** Whether DynamoDB has executed the call when the fault applies. */
  readonly applied: boolean
  /** On the first call only, or on every call of the request. */
  readonly tries: 'first' | 'every'
  /** An instance that has decided before, or one at its first request. */
  readonly instance: 'warm' | 'cold'
  /** The remaining units of the address; `known` if this instance has a cached denial. */
  readonly left: 'some' | 'nothing' | 'nothing, known'
  /** @default 'local' */
  readonly onStoreError?: 'allow' | 'deny'
}

/**
 * - `decided`: as the table says, and counted once.
 * - `degraded`: by the failure mode, and marked.
 */
export type Verdict = 'decided' | 'degraded'

/** Units charged before the fault, if some are to be left. */
const BEFORE = 2
/** After the fault, a decision by the table has to come within this time. */
const BACK_WITHIN_MS = 15_000

/** Runs a cell, and then takes all remaining units of its quota. */
export class StateTrial implements Trial<Verdict> {
  private instance!: Instance
  private open!: () => Instance
  private table!: FaultyDynamoDb
  private answer!: Timed
  private readonly ip: string
  /** Charged before the fault. */
  private readonly before: number
  /** Requests that the table has allowed since. */
  private admitted = 0
  /** Units admitted by the instance alone, which it sends to the table after the fault. */
  private admittedLocally = 0
  private verdict: Verdict = 'degraded'
  private readonly problems: Problem[] = []

  constructor(
    private readonly world: World,
    private readonly cell: StateCell,
  ) {
    this.ip = world.address()
    this.before = cell.left === 'some' ? BEFORE : LIMIT
  }

  private get deadlineMs(): number {
    return this.cell.instance === 'cold' ? FIRST_DEADLINE_MS : DEADLINE_MS
  }

  /**
   * Whether the write may have been applied without an answer: by the call whose answer was changed, or by a late
   * retry.
   */
  private get mayHaveCharged(): boolean {
    const { applied, left, tries } = this.cell
    return this.verdict === 'degraded' && left === 'some' && (applied || tries === 'first')
  }

  async prepare(): Promise<void> {
    const { cell, world, ip } = this
    const { table, endpoint } = await world.table(isOfTls(cell.fault))
    this.table = table
    const mode = { SLUICE_FAILURE_MODE: cell.onStoreError ?? 'local', SLUICE_AUTHENTICATION: 'none' }
    this.open = () => world.instance(mode, endpoint)
    await world.charge(ip, this.before)
    if (cell.instance === 'warm') {
      this.instance = this.open()
      await this.real(world.address(), true)
    }
    if (cell.left === 'nothing, known') await this.real(ip, false)
    const times = cell.tries === 'first' ? 1 : Infinity
    const aim = (call: { table: string }) => call.table === TABLES.state
    await table.arm({ fault: cell.fault, aim, applied: cell.applied, times, deadlineMs: this.deadlineMs })
  }

  /** A new instance reads the tables as it starts. */
  async meet(): Promise<void> {
    this.instance ??= this.open()
    this.answer = await timed(this.deadlineMs, () => this.instance.ask({ ip: this.ip }))
  }

  async settle(): Promise<Outcome<Verdict>> {
    await sleep(30) // for calls that are still under way to the engine
    this.judge(await this.world.charged(this.ip))
    this.table.disarm()
    await this.comeBack()
    await this.drain()
    await this.table.close()
    return { verdict: this.verdict, problems: this.problems }
  }

  private judge(charged: number): void {
    const { told, thrown, overrunMs } = this.answer
    const { cell, problems, before } = this
    if (!told) return void problems.push(wrong(`the handler threw ${thrown}`))
    // A new instance's first deadline begins when it has its configuration, as far as that can be had.
    const overrun = Math.round(
      overrunMs(cell.instance === 'cold' && !cell.fault.connection ? this.table.metAt : undefined),
    )
    if (overrun > GRACE_MS) problems.push(late(`it came ${overrun} ms after its deadline`))
    if (isReal(told)) {
      this.verdict = 'decided'
      if (told.allowed !== (cell.left === 'some')) problems.push(wrong(`it was ${told.allowed ? 'allowed' : 'denied'}`))
      if (told.allowed) this.admitted++
      if (charged !== before + this.admitted)
        problems.push(wrong(`${before} units were charged, then ${charged}, and it was ${told.reason}`))
      if (told.remaining !== LIMIT - charged)
        problems.push(wrong(`it was told of ${told.remaining} left, ${LIMIT - charged} are`))
      return
    }
    if (!told.degraded) problems.push(wrong(`nobody was asked, and it does not say so: ${told.reason}`))
    if (cell.onStoreError && told.allowed !== (cell.onStoreError === 'allow'))
      problems.push(wrong(`it was ${told.reason}`))
    if (told.allowed && !cell.onStoreError) this.admittedLocally++
    if (cell.left === 'nothing, known') problems.push(wrong('the denial was known'))
    if (cell.tries === 'first' && !cell.fault.final) problems.push(late('another try would have decided it'))
    if (charged < before || charged > before + (this.mayHaveCharged ? 1 : 0))
      problems.push(wrong(`${before} units were charged, then ${charged}`))
  }

  /** Expects that recovery is automatic. */
  private async comeBack(): Promise<void> {
    const giveUpAt = performance.now() + BACK_WITHIN_MS
    while (performance.now() < giveUpAt) {
      if (isReal(await this.instance.ask({ ip: this.world.address() }))) return
      await sleep(50)
    }
    this.problems.push(wrong(`no real decision in ${BACK_WITHIN_MS} ms after the fault`))
  }

  /** Takes the remaining units: never more than the limit, and fewer only by those charged without an answer. */
  private async drain(): Promise<void> {
    const { problems } = this
    for (let i = 0; i <= LIMIT; i++) {
      const told = await this.instance.ask({ ip: this.ip })
      if (!isReal(told)) return void problems.push(late('a decision was degraded after the fault'))
      if (told.allowed) this.admitted++
    }
    const lost = LIMIT - this.before - this.admitted
    if (lost < 0) problems.push(wrong(`${-lost} more than the limit were admitted`))
    const excess = lost - this.admittedLocally
    if (excess > (this.mayHaveCharged ? 1 : 0)) problems.push(wrong(`${excess} units were charged without an answer`))
  }

  private async real(ip: string, allowed: boolean): Promise<void> {
    const told = await this.instance.ask({ ip })
    if (told.degraded || told.allowed !== allowed)
      throw new Error(`before any fault: ${JSON.stringify(told)}, ${this.instance.log}`)
  }
}

export const isOfTls = ({ connection }: Fault): boolean => connection === 'untrusted' || connection === 'not-tls'
