import type { Stack } from '@aws-sdk/client-cloudformation'
import { LIMITER_OUTPUT, type LimiterOutput } from '../../provisioning/limiter-output'
import { UserError } from '../exit'
import { printed } from '../facade/values'

/** A deployed limiter, as the outputs of its stack name it. */
export interface Limiter {
  /** `stack/path`: unique in an account and Region. */
  readonly name: string
  readonly stack: string
  /** Of the construct in its stack; undefined for a stack of a release that did not say. */
  readonly path?: string
  readonly tables?: { readonly config: string; readonly state: string }
  readonly functionArn?: string
}

/** No limiter could be found, or none chosen, and nothing said where the tables are. */
export class NoLimiterError extends UserError {}

/** There are limiters, and none of them is chosen. */
export class LimiterChoiceError extends NoLimiterError {}

/** The limiters of a stack: those that the construct names, else the one of the stack that this repository deploys. */
export function limitersIn({ StackName: stack = '', Outputs = [], StackStatus }: Stack): Limiter[] {
  if (StackStatus?.startsWith('DELETE')) return []
  const named = Outputs.flatMap(({ OutputKey = '', OutputValue = '' }) =>
    OutputKey.startsWith(LIMITER_OUTPUT) ? readOutput(stack, OutputValue) : [],
  )
  if (named.length > 0) return named
  const output = (name: string) => Outputs.find(({ OutputKey }) => OutputKey === name)?.OutputValue
  const [config, state] = [output('ConfigTableName'), output('StateTableName')]
  const functionArn = output('AuthorizerFunctionArn')
  const tables = config && state ? { config, state } : undefined
  return tables || functionArn ? [{ name: stack, stack, tables, functionArn }] : []
}

function readOutput(stack: string, value: string): Limiter[] {
  try {
    const {
      limiter,
      configTable: config,
      stateTable: state,
      function: functionArn,
    } = JSON.parse(value) as LimiterOutput
    return [{ name: `${stack}/${limiter}`, stack, path: limiter, tables: { config, state }, functionArn }]
  } catch {
    return [] // somebody else's output
  }
}

/**
 * Chooses one of the limiters.
 *
 * @param name `stack/path`, or one of the two if that is enough; undefined: there must be only one.
 * @throws LimiterChoiceError
 */
export function chooseLimiter(all: readonly Limiter[], name: string | undefined, where: string): Limiter {
  const named = name === undefined ? all : all.filter((one) => one.name === name)
  const found = named.length > 0 ? named : all.filter(({ stack, path }) => stack === name || path === name)
  if (found.length === 1) return found[0]!
  const names = (found.length > 0 ? found : all).map((one) => one.name).join(', ')
  throw new LimiterChoiceError(
    found.length > 1
      ? `there are ${found.length} limiters in ${where}, choose one with --limiter: ${names}`
      : `there is no limiter ${printed(name)} in ${where}: ${names === '' ? 'there is none' : `there is ${names}`}`,
  )
}
