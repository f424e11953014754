import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Session } from '../cli/command'
import { buildProgram } from '../cli/program'
import { reference } from '../cli/reference'
import { processIo } from '../cli/terminal/io'
import { formatMarkdown } from '../lib/format-markdown'

const page = reference(buildProgram(new Session(processIo(), '')))
writeFileSync(join(__dirname, '..', 'docs', 'cli.md'), formatMarkdown(page))
