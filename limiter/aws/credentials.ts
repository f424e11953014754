import { isMissing } from './missing-package'

/** As the SDK's providers give them. */
export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of a role. */
  readonly sessionToken?: string | undefined
  /** @default they do not expire */
  readonly expiration?: Date | undefined
}

/** A source of credentials: any provider of the SDK is one. */
export type CredentialProvider = () => Promise<AwsCredentials>

/** Credentials that end sooner are fetched anew, in the background while they still last. */
const REFRESH_BEFORE_MS = 5 * 60_000

/** Credentials of one source, fetched when they are needed first, and again before they expire. */
export class Credentials {
  private known: AwsCredentials | undefined
  private fetching: Promise<AwsCredentials> | undefined

  /**
   * @param given @default the environment, else the SDK's own chain where it is installed
   * @param now AWS's time, by which credentials expire.
   */
  constructor(
    private readonly given?: AwsCredentials | CredentialProvider,
    private readonly now: () => number = Date.now,
  ) {}

  /** @throws Error where there are none, and whatever the provider throws. */
  readonly get: CredentialProvider = async () => {
    const { known } = this
    const leftMs = (known?.expiration?.getTime() ?? Infinity) - this.now()
    if (!known || leftMs <= 0) return this.fetch()
    if (leftMs < REFRESH_BEFORE_MS) this.fetch().catch(() => {}) // the next request tries again
    return known
  }

  /** Drops a session that AWS says has expired, unless it has been replaced meanwhile. */
  forget(sessionToken: string | undefined): void {
    if (this.known?.sessionToken === sessionToken) this.known = undefined
  }

  private fetch(): Promise<AwsCredentials> {
    this.fetching ??= this.provided()
      .then((credentials) => {
        if (typeof credentials?.accessKeyId !== 'string' || typeof credentials.secretAccessKey !== 'string')
          throw new Error('Resolved credential object is not valid')
        this.known = credentials
        return credentials
      })
      .finally(() => {
        this.fetching = undefined
      })
    return this.fetching
  }

  private async provided(): Promise<AwsCredentials> {
    if (typeof this.given === 'function') return this.given()
    return this.given ?? fromEnvironment() ?? fromSdk()
  }
}

/**
 * The credentials of a Lambda function, and of anybody who exports them. A profile that is named has precedence, as
 * with the SDK.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 */
function fromEnvironment(env = process.env): AwsCredentials | undefined {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env
  const { AWS_SESSION_TOKEN: sessionToken, AWS_CREDENTIAL_EXPIRATION: expiration } = env
  if (!accessKeyId || !secretAccessKey || env.AWS_PROFILE) return undefined
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken && { sessionToken }),
    ...(expiration && { expiration: new Date(expiration) }),
  }
}

/** The SDK's chain of sources, by the packages that have it, and the names that they have for it. */
const CHAINS = [
  ['@aws-sdk/credential-providers', 'fromNodeProviderChain'],
  ['@aws-sdk/credential-provider-node', 'defaultProvider'],
] as const

async function fromSdk(): Promise<AwsCredentials> {
  for (const [name, chain] of CHAINS) {
    const found = await installed(name)
    if (found) return found[chain]!()()
  }
  throw new Error(
    'Could not load credentials from any source: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, pass ' +
      'credentials (such as fromNodeProviderChain()), or install @aws-sdk/credential-providers',
  )
}

/** A package that a program may have; bundlers do not follow the name. */
async function installed(name: string): Promise<Record<string, () => CredentialProvider> | undefined> {
  try {
    return await import(/* webpackIgnore: true */ name)
  } catch (error) {
    if (isMissing(error, name)) return undefined
    throw error
  }
}
