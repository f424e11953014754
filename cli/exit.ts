import { WriteConflictError } from '../provisioning/guarded-writes'
import { ConfigError, SluiceError, StoreUnavailableError } from './facade/values'
import { titleOf } from './tiers/titles'

/** What the process ends with; 130 is what shells call ended by Ctrl-C. */
export const EXIT = { done: 0, mistake: 1, service: 2, gate: 3, interrupted: 130 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** What ends a command, in one line or several. A line is not split, whatever names it contains. */
abstract class CommandError extends Error {
  readonly lines: readonly string[]

  constructor(text: string | readonly string[]) {
    const lines = typeof text === 'string' ? [text] : text
    super(lines.join('\n'))
    this.lines = lines
  }
}

/** An error that the user can fix: printed without a stack, exit code 1. */
export class UserError extends CommandError {
  override readonly name = 'UserError'
}

/** A failure of DynamoDB or CloudFormation: exit code 2. */
export class ServiceError extends CommandError {
  override readonly name = 'ServiceError'
}

/** A condition of `--fail-if` holds: exit code 3. */
export class GateError extends CommandError {
  override readonly name = 'GateError'
}

/** Ctrl-C while there was still something to do: exit code 130. */
export class InterruptedError extends CommandError {
  override readonly name = 'InterruptedError'
}

interface SdkError extends Error {
  readonly code?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
  readonly errors?: readonly Error[]
}

const DENIED =
  /AccessDenied|UnrecognizedClient|ExpiredToken|InvalidSignature|InvalidClientTokenId|MissingAuthenticationToken|SignatureDoesNotMatch|AuthFailure/

/** The SDK's wrapper for thrown values that are not instances of its `Error`, such as errors of another realm. */
const WRAPPER = /^AWS SDK error wrapper for (\w*Error: )?/

/** The lines to print about an error. */
export function linesOf(error: unknown): readonly string[] {
  if (error instanceof CommandError) return error.lines
  const { message } = failureOf(error)
  if (error instanceof ConfigError && error.issues.length > 1)
    return [message.split('\n', 1)[0]!, ...error.issues.map((one) => `  - ${one}`)]
  return error instanceof Error && message === error.stack ? message.split('\n') : [message]
}

/** What to print about an error, and what to end with. A bug shows its stack, nothing else does. */
export function failureOf(error: unknown): { readonly code: ExitCode; readonly message: string } {
  if (!(error instanceof Error)) return { code: EXIT.service, message: String(error) }
  if (error instanceof UserError) return { code: EXIT.mistake, message: error.message }
  if (error instanceof GateError) return { code: EXIT.gate, message: error.message }
  if (error instanceof InterruptedError) return { code: EXIT.interrupted, message: error.message }
  if (error instanceof ServiceError) return { code: EXIT.service, message: error.message }
  if (error instanceof WriteConflictError) return { code: EXIT.mistake, message: conflictText(error) }
  if (error instanceof StoreUnavailableError) return storeFailure(error)
  if (error instanceof SluiceError) return { code: EXIT.mistake, message: error.message }
  return sdkFailure(error)
}

const conflictText = ({ keys }: WriteConflictError): string =>
  `nothing was written, because another writer changed ${keys.map(({ sk }) => titleOf(sk)).join(', ')} at the same moment: try again`

function storeFailure(error: StoreUnavailableError): ReturnType<typeof failureOf> {
  if (error.reason === 'missing-table') {
    return {
      code: EXIT.mistake,
      message: `${error.message.split(';')[0]}: name it with --state-table or SLUICE_STATE_TABLE`,
    }
  }
  const reported = error.cause instanceof Error ? sdkFailure(error.cause) : undefined
  if (error.reason === 'refused' && reported) return reported
  if (error.reason === 'unusable-client')
    return reported?.code === EXIT.mistake ? reported : { code: EXIT.mistake, message: error.message }
  return { code: EXIT.service, message: error.message }
}

function sdkFailure(error: SdkError): ReturnType<typeof failureOf> {
  const { name, message } = error
  if (/^Region is missing/.test(message)) {
    return {
      code: EXIT.mistake,
      message: 'no AWS Region: set AWS_REGION or use --region, or use --endpoint for another DynamoDB',
    }
  }
  if (DENIED.test(name)) return { code: EXIT.mistake, message: `AWS rejects these credentials: ${firstLine(message)}` }
  if (/CredentialsProviderError|TokenProviderError/.test(name)) {
    return {
      code: EXIT.mistake,
      message: `no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; or with npm start SLUICE_DYNAMODB_ENDPOINT (${firstLine(message)})`,
    }
  }
  if (/exceeded the configured \d+ ms requestTimeout/.test(message))
    return { code: EXIT.service, message: 'the service did not answer in time' }
  const cause = firstLine((error.errors?.[0] ?? error).message || name).replace(WRAPPER, '')
  const isTheirs =
    error.$metadata?.httpStatusCode !== undefined || error.code !== undefined || /^(Timeout|Abort)Error$/.test(name)
  if (isTheirs || WRAPPER.test(message)) return { code: EXIT.service, message: `the service failed: ${cause}` }
  return { code: EXIT.service, message: error.stack ?? message }
}

const firstLine = (text: string): string => text.split('\n')[0] as string
