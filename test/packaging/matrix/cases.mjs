// The tools that load the package, each in the versions that people use.

import { join } from "node:path"
import { nextCase } from "./next.mjs"
import {
  commonJsProgram,
  jestModuleTest,
  jestTest,
  moduleProgram,
  tsJestTest,
  typedProgram,
  vitestTest,
} from "./programs.mjs"
import { typeScriptCases } from "./typescript.mjs"

/**
 * @typedef {object} Case
 * @property {string} group the tool
 * @property {string} name what the case is about
 * @property {boolean} [isQuick] runs with --quick
 * @property {readonly string[]} packages what is installed beside the library
 * @property {Readonly<Record<string, string | object>>} files
 * @property {(project: Project) => Promise<unknown>} run throws if it fails
 */

/**
 * @typedef {object} Project
 * @property {string} folder
 * @property {(script: string, ...args: string[]) => Promise<string>} run runs a command of node_modules/.bin
 * @property {(...args: string[]) => Promise<string>} node runs Node and returns what it prints
 */

const BESIDE_TESTS = ["express@5", "ioredis@6"]
const DECISION = "true 1\n"

/** @param {string} printed */
function expectDecision(printed) {
  if (printed !== DECISION)
    throw new Error(`expected ${JSON.stringify(DECISION)}, got ${JSON.stringify(printed)}`)
}

/** @returns {Case[]} */
function jestCases(version) {
  const group = `jest ${version}`
  return [
    {
      group,
      name: "a CommonJS project, no configuration",
      isQuick: true,
      packages: [`jest@${version}`, ...BESIDE_TESTS],
      files: { "package.json": { private: true }, "limiter.test.js": jestTest },
      run: ({ run }) => run("jest"),
    },
    {
      group,
      name: "ES modules, by --experimental-vm-modules",
      packages: [`jest@${version}`, ...BESIDE_TESTS],
      files: {
        "package.json": { private: true, type: "module", jest: { transform: {} } },
        "limiter.test.js": jestModuleTest,
      },
      run: ({ folder, node }) =>
        node("--experimental-vm-modules", join(folder, "node_modules/jest/bin/jest.js")),
    },
    {
      group,
      name: "ts-jest, moduleResolution node10",
      isQuick: version === "30",
      packages: [
        `jest@${version}`,
        "ts-jest@29",
        "typescript@5.9",
        `@types/jest@${version}`,
        "@types/node@20",
        "@types/express@5",
        ...BESIDE_TESTS,
      ],
      files: {
        "package.json": { private: true, jest: { preset: "ts-jest" } },
        "tsconfig.json": {
          compilerOptions: {
            target: "ES2022",
            module: "commonjs",
            moduleResolution: "node10",
            esModuleInterop: true,
            strict: true,
            skipLibCheck: true,
          },
        },
        "limiter.test.ts": tsJestTest,
      },
      run: ({ run }) => run("jest"),
    },
  ]
}

/** @returns {Case[]} */
function vitestCases(version, isQuick) {
  return [
    {
      group: `vitest ${version}`,
      name: "no configuration",
      isQuick,
      packages: [`vitest@${version}`, ...BESIDE_TESTS],
      files: { "package.json": { private: true, type: "module" }, "limiter.test.js": vitestTest },
      run: ({ run }) => run("vitest", "run"),
    },
  ]
}

/** @returns {Case[]} */
function tsxCases() {
  return ["module", "commonjs"].map((type) => ({
    group: "tsx 4",
    name: type === "module" ? "ES modules" : "CommonJS",
    isQuick: type === "commonjs",
    packages: ["tsx@4"],
    files: { "package.json": { private: true, type }, "main.ts": typedProgram },
    run: async ({ run }) => expectDecision(await run("tsx", "main.ts")),
  }))
}

const BOTH_KINDS = { "module.mjs": moduleProgram, "common.cjs": commonJsProgram }

/**
 * Bundles an ES module and a CommonJS module, then runs both bundles.
 * @param {string} group
 * @param {readonly string[]} packages
 * @param {(project: Project, source: string, folder: string) => Promise<unknown>} bundle writes main.cjs into the folder
 * @returns {Case}
 */
function bundlerCase(group, packages, bundle) {
  return {
    group,
    name: "bundles import and require",
    isQuick: true,
    packages,
    files: BOTH_KINDS,
    async run(project) {
      for (const name of Object.keys(BOTH_KINDS)) {
        await bundle(project, `./${name}`, `out-${name}`)
        expectDecision(await project.node(`out-${name}/main.cjs`))
      }
    },
  }
}

/** @returns {Case[]} */
function bundlerCases() {
  return [
    bundlerCase("webpack 5", ["webpack@5", "webpack-cli@6"], ({ folder, run }, source, output) =>
      run(
        "webpack",
        ...["--mode=production", "--target=node20", "--entry", source],
        ...["--output-path", join(folder, output), "--output-filename", "main.cjs"],
      ),
    ),
    bundlerCase("esbuild 0.28", ["esbuild@0.28"], ({ run }, source, output) =>
      run("esbuild", source, "--bundle", "--platform=node", "--minify", `--outfile=${output}/main.cjs`),
    ),
    bundlerCase("rolldown 1", ["rolldown@1"], ({ run }, source, output) =>
      run(
        "rolldown",
        ...[source, "--platform=node", "--format=cjs", `--dir=${output}`],
        ...["--entryFileNames=main.cjs", "--chunkFileNames=[name].cjs"],
      ),
    ),
  ]
}

/** @type {Case[]} */
export const cases = [
  ...jestCases("29"),
  ...jestCases("30"),
  ...vitestCases("3", false),
  ...vitestCases("4", true),
  ...tsxCases(),
  ...typeScriptCases(),
  ...bundlerCases(),
  nextCase,
]
