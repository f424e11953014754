import { startDynalite } from '../../local/engines/dynalite'

/** Runs dynalite: tells its parent the URL, and ends when the channel to the parent closes. */
async function main(): Promise<void> {
  const engine = await startDynalite()
  process.once('disconnect', () => void engine.stop().then(() => process.exit()))
  process.send?.(engine.endpoint)
}

void main()
