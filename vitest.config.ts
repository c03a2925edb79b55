import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const everyTest = [
  "packages/*/src/**/*.test.ts",
  "test/**/*.test.ts",
  "scripts/**/*.test.mjs",
  "bench/harness/**/*.test.mjs",
  "bench/redis/**/*.test.mjs",
]

/** Tests that assert how long one turn of the event loop takes. Each has the machine to itself, after all others. */
const timedTests = [
  "packages/sluice/src/stores/memory/pauses.test.ts",
  "packages/sluice/src/request/path.test.ts",
  "packages/sluice/src/rules/match/matcher-stress.test.ts",
  "packages/server/src/check-api/worst-bodies.test.ts",
]

/** Tests that assert that an answer comes within a deadline. They mostly wait, so a few of them run at a time. */
const deadlineTests = [
  "packages/server/src/control/worst-bodies.test.ts",
  "packages/sluice/src/rules/sources/file.test.ts",
  "test/rules/save-stalls.test.ts",
  "packages/cli/src/program.test.ts",
  "test/chaos/*.test.ts",
  "test/gateway/{slow-clients,malformed}.test.ts",
  "test/service/malformed.test.ts",
  "test/fuzz/*.test.ts",
]

/** Tests that see what else their process does, or has left behind. They have one to themselves. */
const isolatedTests = ["test/support/**/*.test.ts", "packages/sluice/src/clock.test.ts"]

/** Those that need a tool which could not be had: `npm test` reports them. */
const leftOut = (process.env.SLUICE_TESTS_LEFT_OUT ?? "").split("\n").filter((file) => file !== "")

const notTests = ["**/node_modules/**", "**/dist/**", ...leftOut]

export default defineConfig({
  resolve: { alias: [...sourceAliases("sluice"), ...sourceAliases("server")] },
  test: {
    // What takes a second here may take ten where other work goes on at the same time. What must be quick says so itself.
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // Test files of one worker share their modules: loading them again for each file took a third of the processor time.
    isolate: false,
    setupFiles: ["test/support/leave-no-trace.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "together",
          include: everyTest,
          exclude: [...notTests, ...isolatedTests, ...deadlineTests, ...timedTests],
          // Half of the time goes into waiting for servers to start and browsers to draw.
          maxWorkers: availableParallelism() + 2,
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
          maxWorkers: availableParallelism() + 2,
          sequence: { groupOrder: 0 },
        },
      },
      alone("deadlines", deadlineTests, { maxWorkers: availableParallelism() + 1, groupOrder: 1 }),
      alone("timed", timedTests, { maxWorkers: 1, groupOrder: 2 }),
    ],
  },
})

interface Order {
  readonly maxWorkers: number
  readonly groupOrder: number
}

/** A project that runs after the others. The machine may be elsewhere for a moment; three times in a row it is the code. */
function alone(name: string, include: string[], { maxWorkers, groupOrder }: Order) {
  const test = { name, include, exclude: notTests, maxWorkers, retry: 2, sequence: { groupOrder } }
  return { extends: true as const, test }
}

/** Tests import a package by its name, as users do, and get its sources, so that no test ever runs on an old build. */
function sourceAliases(folderName: string) {
  const folder = new URL(`./packages/${folderName}/`, import.meta.url)
  const manifest = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"))
  return Object.entries<string | { default: string }>(manifest.exports).flatMap(([subpath, target]) => {
    if (typeof target === "string") return []
    const source = target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts")
    return [
      {
        find: new RegExp(`^${manifest.name}${subpath.slice(1).replaceAll("/", "\\/")}$`),
        replacement: fileURLToPath(new URL(source, folder)),
      },
    ]
  })
}
