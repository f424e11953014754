/** The tables of a DynamoDB on one's own machine: those that `sluice dev` makes. */
export const LOCAL_TABLES = { state: 'sluice-state', config: 'sluice-config' } as const

/**
 * The part of the environment with which the SDK signs. Local engines accept any signature, so placeholder credentials
 * are used unless the user has set real ones. Some engines keep separate tables per access key and Region, so all
 * clients of the same tables must share them.
 */
export function localAwsEnvironment(env: Readonly<Record<string, string | undefined>>) {
  return {
    AWS_REGION: env.AWS_REGION || 'us-east-1',
    AWS_ACCESS_KEY_ID: env.AWS_ACCESS_KEY_ID || 'local',
    AWS_SECRET_ACCESS_KEY: env.AWS_SECRET_ACCESS_KEY || 'local',
    ...(env.AWS_SESSION_TOKEN !== undefined && { AWS_SESSION_TOKEN: env.AWS_SESSION_TOKEN }),
  }
}

/** Whether a URL leads to this machine. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url)
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}
