import { copyFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { writePages } from '../../pages/build'

/** `npm run lab:build [-- folder]`: the lab as files for any web server, under any path. */
const folder = resolve(process.argv[2] ?? join(__dirname, '..', '..', 'lab-site'))

writePages(folder, ['lab'])
  .then(() => {
    copyFileSync(join(folder, 'lab.html'), join(folder, 'index.html'))
    console.log(`${folder} has the lab: serve it with any web server`)
  })
  .catch((error: unknown) => {
    console.error(`lab:build: ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  })
