import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const ROOT = fileURLToPath(new URL(".", import.meta.url))

const everyTest = [
  "packages/*/src/**/*.test.ts",
  "test/**/*.test.ts",
  "scripts/**/*.test.mjs",
  "bench/harness/**/*.test.mjs",
  "bench/redis/**/*.test.mjs",
]

/** Tests that assert how long a call takes, by the clock. Each has the machine to itself, after all others. */
const timedTests = [
  "packages/sluice/src/request/path.test.ts",
  "packages/sluice/src/rules/match/matcher-stress.test.ts",
]

/** Tests that assert that an answer comes within a deadline. They mostly wait, so a few of them run at a time. */
const deadlineTests = [
  "packages/sluice/src/rules/sources/file.test.ts",
  "packages/cli/src/program.test.ts",
  "test/chaos/*.test.ts",
  "test/gateway/{slow-clients,malformed}.test.ts",
  "test/service/malformed.test.ts",
  "test/fuzz/fuzz.test.ts",
]

/**
 * Tests that assert that nothing blocks the event loop, by the processor time of their thread or by the best of several
 * attempts. They run beside others, but in a process of their own: collecting the garbage of other tests would count.
 */
const stallTests = [
  "packages/sluice/src/stores/memory/pauses.test.ts",
  "packages/server/src/control/worst-bodies.test.ts",
  "packages/server/src/check-api/worst-bodies.test.ts",
  "test/rules/save-stalls.test.ts",
]

/** Tests that see what else their process does, or has left behind. They have one to themselves. */
const isolatedTests = ["test/support/**/*.test.ts", "packages/sluice/src/clock.test.ts"]

/**
 * The tests that take longest, in any project. They start first, so that a core is not idle while the last one ends. `npm test`
 * lists the slowest files.
 */
const longTests = [
  "test/deploy/fail-over",
  "test/service/malformed",
  "test/gateway/slow-clients",
  "test/chaos/cluster",
  "test/chaos/sentinel",
  "test/fuzz/fuzz",
  "test/chaos/fleet-twice",
  "test/service/budget",
  "packages/server/src/main",
  "test/service/run",
  "test/dashboard/",
  "packages/server/src/control/worst-bodies",
  "test/rules/save-stalls",
  "packages/server/src/service/workers/workers",
  "packages/server/src/control/routes/replay",
  "packages/sluice/src/stores/memory/",
  "test/leases/",
  "test/packaging/",
  "test/differential/",
  "test/gateway/",
  "test/service/",
  "test/rules/",
  "test/redis/",
  "test/fuzz/",
  "test/chaos/",
  "packages/cli/src/",
]

/** Starts long tests first, and of the others those that took long the last time, or else have large files. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const path = relative(ROOT, moduleId).replaceAll("\\", "/")
      const place = longTests.findIndex((start) => path.startsWith(start))
      return place === -1 ? longTests.length : place
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

/** Those that need a tool which could not be had: `npm test` reports them. */
const leftOut = (process.env.SLUICE_TESTS_LEFT_OUT ?? "").split("\n").filter((file) => file !== "")

/** Half of the time goes into waiting for servers to start and browsers to draw. */
const WORKERS = availableParallelism() + 2

const notTests = ["**/node_modules/**", "**/dist/**", ...leftOut]

export default defineConfig({
  resolve: { alias: [...sourceAliases("sluice"), ...sourceAliases("server")] },
  test: {
    // What takes a second here may take 20 where other work goes on at the same time, and a browser takes three to start. What
    // must be quick says so itself.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
    // Test files of one worker share their modules: loading them again for each file took a third of the processor time.
    isolate: false,
    setupFiles: ["test/support/leave-no-trace.ts"],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "together",
          include: everyTest,
          exclude: [...notTests, ...isolatedTests, ...stallTests, ...deadlineTests, ...timedTests],
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "isolated",
          include: isolatedTests,
          exclude: notTests,
          isolate: true,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      retried("stalls", stallTests, { isolate: true, maxWorkers: WORKERS, groupOrder: 0 }),
      retried("deadlines", deadlineTests, { maxWorkers: availableParallelism() + 2, groupOrder: 1 }),
      retried("timed", timedTests, { maxWorkers: 1, groupOrder: 2 }),
    ],
  },
})

interface Order {
  readonly isolate?: boolean
  readonly maxWorkers: number
  readonly groupOrder: number
}

/** A project of tests that measure time. The machine may be elsewhere for a moment; three times in a row it is the code. */
function retried(name: string, include: string[], { groupOrder, ...workers }: Order) {
  const test = { name, include, exclude: notTests, ...workers, retry: 2, sequence: { groupOrder } }
  return { extends: true as const, test }
}

/** What `exports` of a package.json has for a subpath: a file, or a module, which may also exist as CommonJS. */
type Target = string | { default: string } | { import: { default: string } }

/** Tests import a package by its name, as users do, and get its sources, so that no test ever runs on an old build. */
function sourceAliases(folderName: string) {
  const folder = new URL(`./packages/${folderName}/`, import.meta.url)
  const manifest = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"))
  return Object.entries<Target>(manifest.exports).flatMap(([subpath, target]) => {
    if (typeof target === "string") return []
    const { default: file } = "import" in target ? target.import : target
    const source = file.replace("./dist/", "src/").replace(/\.js$/, ".ts")
    return [
      {
        find: new RegExp(`^${manifest.name}${subpath.slice(1).replaceAll("/", "\\/")}$`),
        replacement: fileURLToPath(new URL(source, folder)),
      },
    ]
  })
}
