import type { SourceSettings } from '../config-table/items/identity-settings'
import type { JwtSettings } from '../config-table/items/jwt-settings'
import type { Settings } from '../config-table/items/settings'
import { apiGatewayKeySource } from './api-gateway-key'
import { apiKeySource } from './api-key'
import { clientCertificateSource } from './client-certificate'
import type { AddressRules } from './client-ip'
import { jwtSource } from './jwt'
import type { Source } from './source'
import type { TokenVerifier } from './token-verifier'
import { trustedValueSource } from './trusted-value'

/** The sources of identity, and how the caller's address is read. */
export interface SourceList {
  readonly list: readonly Source[]
  readonly address: AddressRules & { readonly ipv6Prefix?: number }
}

/** Makes the sources of the settings once, and again when the settings change. */
export class Sources {
  private readonly made = new WeakMap<Settings, SourceList>()

  /** @param deadlineMs time for an issuer's keys, in milliseconds. */
  constructor(
    private readonly verifierOf: (settings: JwtSettings) => TokenVerifier,
    private readonly deadlineMs: number,
  ) {}

  of(settings: Settings): SourceList {
    const known = this.made.get(settings)
    if (known) return known
    const made = this.make(settings.identity)
    this.made.set(settings, made)
    return made
  }

  private make(identity: readonly SourceSettings[]): SourceList {
    const address = identity.find((one) => one.source === 'ip') ?? { trustedHops: 0, viewerAddress: false }
    return { list: identity.flatMap((one) => this.sourceOf(one) ?? []), address }
  }

  /** The address is not a source: it identifies anonymous callers. */
  private sourceOf(settings: SourceSettings): Source | undefined {
    switch (settings.source) {
      case 'api-key':
        return apiKeySource(settings.header)
      case 'api-gateway-key':
        return apiGatewayKeySource
      case 'client-certificate':
        return clientCertificateSource
      case 'jwt':
        return jwtSource(settings, this.verifierOf(settings), this.deadlineMs)
      case 'header':
      case 'query':
      case 'path':
        return trustedValueSource(settings)
      case 'ip':
        return undefined
    }
  }
}
