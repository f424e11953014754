import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiReference } from './api-reference'

writeFileSync(join(__dirname, '..', 'docs', 'api.md'), apiReference())
