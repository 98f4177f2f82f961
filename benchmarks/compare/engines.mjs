// Engines of the comparison that are written for Node (started by benchmarks.compare):
//
//     node engines.mjs NAME PREFIX PLAN
//
// PREFIX is where npm installed the engine; plan and answer are those of code/engines.py. The library of each is used,
// not its command, so that a question does not pay for the start of Node.
import { createRequire } from 'node:module'
import { mkdtempSync, readFileSync, rmSync, statSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const TOP = 10
const WARM_UP = ['where is the main entry point', 'parse arguments', 'HttpServer', 'error handling', 'read_config_file']
const WHOLE_FILE = 1000000000

// qmd's keyword search, the part of it that needs no model: whole documents, all words of the question.
async function openQmd(prefix) {
  const { createStore } = await import(pathToFileURL(join(prefix, 'node_modules/@tobilu/qmd/dist/index.js')).href)
  return async (folder, home) => {
    const config = { collections: { all: { path: folder, pattern: '**/*' } } }
    const store = await createStore({ dbPath: join(home, 'index.sqlite'), config })
    const done = await store.update()
    return {
      search: async (text) => {
        const found = await store.searchLex(text, { limit: TOP })
        return found.map((hit) => [hit.filepath.slice('qmd://all/'.length), 1, WHOLE_FILE])
      },
      count: () => done.indexed,
      close: () => store.close(),
    }
  }
}

// CodeGraph's search for what is relevant to a task (.567 on 40 questions about six repositories, its plain search over
// names .532). It keeps its index in the folder, which is taken away at the end.
async function openCodegraph(prefix) {
  const { CodeGraph } = createRequire(join(prefix, 'package.json'))('@colbymchenry/codegraph')
  return async (folder) => {
    const graph = await CodeGraph.init(folder)
    const done = await graph.indexAll()
    return {
      search: async (text) => {
        const found = await graph.findRelevantContext(text, { searchLimit: TOP })
        return [...found.nodes.values()].slice(0, TOP).map((node) => [node.filePath, node.startLine, node.endLine])
      },
      count: () => done.nodesCreated,
      bytes: () => bytesOf(join(folder, '.codegraph')),
      close: () => {
        graph.close()
        rmSync(join(folder, '.codegraph'), { recursive: true, force: true })
      },
    }
  }
}

const ENGINES = { qmd: openQmd, codegraph: openCodegraph }

function cpuSeconds() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

function bytesOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}

async function runJob(index, job) {
  const home = mkdtempSync(join(tmpdir(), 'compare-'))
  const cpu = cpuSeconds()
  const wall = performance.now()
  const opened = await index(job.folder, home)
  const answer = { index_wall_s: (performance.now() - wall) / 1000, index_cpu_s: cpuSeconds() - cpu }
  Object.assign(answer, { chunks: opened.count(), found: {}, cpu_ms: [], wall_ms: [] })
  for (const text of WARM_UP) await opened.search(text)
  for (const [name, text] of job.questions) {
    const cpu = cpuSeconds()
    const wall = performance.now()
    answer.found[name] = await opened.search(text)
    answer.wall_ms.push(performance.now() - wall)
    answer.cpu_ms.push(1000 * (cpuSeconds() - cpu))
  }
  answer.bytes = opened.bytes ? opened.bytes() : bytesOf(home)
  await opened.close()
  rmSync(home, { recursive: true, force: true })
  return answer
}

const [name, prefix, plan] = process.argv.slice(2)
const index = await ENGINES[name](prefix)
const jobs = {}
for (const job of JSON.parse(readFileSync(plan, 'utf8')).jobs) jobs[job.name] = await runJob(index, job)
process.stdout.write('\n' + JSON.stringify({ jobs }) + '\n', () => process.exit(0))
