import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Session } from './command'
import { processIo } from './io'
import { buildProgram } from './program'
import { reference } from './reference'

writeFileSync(join(__dirname, '..', 'docs', 'cli.md'), reference(buildProgram(new Session(processIo(), ''))))
