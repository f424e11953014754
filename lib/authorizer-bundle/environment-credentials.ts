/**
 * Replaces the SDK's credential chain: a Node function in Lambda always has its credentials in the environment.
 *
 * The chain includes clients for STS, SSO and sign-in, a third of the bundle, none of which is needed there. The
 * variables are read at each call of the provider. The SDK caches the result: an instance keeps its first credentials
 * for its whole life.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 */
export const defaultProvider = () => async () => {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env
  if (!accessKeyId || !secretAccessKey) throw new Error('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set')
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
}
