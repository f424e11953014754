import type { Tier } from './items/tiers'

/** Tiers of which some are parsed only when they are read from the map. */
export class TiersAsNeeded extends Map<string, Tier> {
  constructor(
    tiers: ReadonlyMap<string, Tier>,
    private readonly read: (name: string) => Tier | undefined,
  ) {
    super(tiers)
  }

  override get(name: string): Tier | undefined {
    return super.get(name) ?? this.read(name)
  }
}
