#!/usr/bin/env node
import { processIo } from './io.js'
import { run } from './run.js'

// Not process.exit(), which would cut off output on its way into a pipe.
process.exitCode = await run(process.argv.slice(2), processIo())
