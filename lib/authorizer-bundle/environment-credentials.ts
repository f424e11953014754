/**
 * Stands in for the SDK's credential chain: a Node function in Lambda always finds its credentials in the environment.
 *
 * The chain brings clients for STS, SSO and sign-in along, a third of the bundle, none of which can answer there. Read
 * at each call of the provider, which the SDK remembers: an instance keeps the credentials that it started with for as
 * long as it lives.
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
