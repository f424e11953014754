import { createHash } from 'node:crypto'
import { NO_CREDENTIAL, type Source } from './source'

/**
 * The certificate of a mutual TLS connection. API Gateway has verified it against the trust store; here it only
 * identifies the caller, by the fingerprint that `openssl x509 -fingerprint -sha256` prints, in lower case and without
 * colons.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/rest-api-mutual-tls.html
 */
export const clientCertificateSource: Source = {
  resolve({ clientCertificate }) {
    const fingerprint = clientCertificate === undefined ? undefined : fingerprintOf(clientCertificate)
    return fingerprint === undefined
      ? NO_CREDENTIAL
      : { kind: 'claim', credential: `client-certificate:${fingerprint}` }
  },
}

/** SHA-256 of the certificate's DER form; `undefined` for invalid PEM. */
export function fingerprintOf(pem: string): string | undefined {
  const [, base64] = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/.exec(pem) ?? []
  return base64 && createHash('sha256').update(Buffer.from(base64, 'base64')).digest('hex')
}
