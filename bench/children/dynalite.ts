import { startDynalite } from '../../local/engines/dynalite'

/** dynalite for as long as the bench is there: says where it listens, and ends with the channel to its parent. */
async function main(): Promise<void> {
  const engine = await startDynalite()
  process.once('disconnect', () => void engine.stop().then(() => process.exit()))
  process.send?.(engine.endpoint)
}

void main()
