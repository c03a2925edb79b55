import { typedProgram } from "./programs.mjs"

const VERSIONS = ["5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "6.0", "7.0"]

/** The settings that people have, with the kind of module that the program is. */
const SETTINGS = [
  { name: "node10", type: "commonjs", options: { module: "commonjs", moduleResolution: "node10" } },
  { name: "node16, CommonJS", type: "commonjs", options: { module: "node16" } },
  { name: "nodenext, ES module", type: "module", options: { module: "nodenext" } },
  { name: "bundler", type: "module", options: { module: "esnext", moduleResolution: "bundler" } },
]

/** TypeScript 6 wants to be told that node10 is meant, and TypeScript 7 no longer has it. */
function settingsOf(version) {
  const major = Number.parseInt(version, 10)
  if (major < 6) return SETTINGS
  if (major > 6) return SETTINGS.filter(({ name }) => name !== "node10")
  return SETTINGS.map((setting) =>
    setting.name === "node10"
      ? { ...setting, options: { ...setting.options, ignoreDeprecations: "6.0" } }
      : setting,
  )
}

/** @returns {import("./cases.mjs").Case[]} */
export function typeScriptCases() {
  return VERSIONS.map((version) => {
    const settings = settingsOf(version)
    return {
      group: `typescript ${version}`,
      name: settings.map(({ name }) => name).join("; "),
      isQuick: version === "5.4",
      // The types of sluice/redis name those of ioredis.
      packages: [`typescript@~${version}`, "@types/node@20", "ioredis@6"],
      files: Object.fromEntries(settings.flatMap(projectFiles)),
      async run({ run, node }) {
        for (const [i, { name }] of settings.entries()) {
          await run("tsc", "-p", `${i}`).catch(expectForeignErrors)
          const printed = name === "bundler" ? "true 1\n" : await node(`${i}/out/main.js`)
          if (printed !== "true 1\n")
            throw new Error(`${name}: the program printed ${JSON.stringify(printed)}`)
        }
      },
    }
  })
}

/** Declarations of other packages may have errors with the oldest compilers. Those of this package and of the program may not. */
function expectForeignErrors(/** @type {Error} */ error) {
  const lines = error.message.split("\n").slice(1)
  const errors = lines.filter((line) => /\berror TS\d+/.test(line))
  const own = errors.filter((line) => !/^(?:\.\.\/)*node_modules\/(?!sluice\/)/.test(line))
  if (own.length > 0 || errors.length === 0) throw own.length > 0 ? new Error(own.join("\n")) : error
}

function projectFiles({ type, options }, i) {
  const compilerOptions = {
    target: "ES2022",
    lib: ["ES2023"],
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    // The declarations of this package are checked, too.
    skipLibCheck: false,
    rootDir: ".",
    outDir: "out",
    ...options,
  }
  return [
    [`${i}/package.json`, { private: true, type }],
    [`${i}/main.ts`, typedProgram],
    [`${i}/tsconfig.json`, { compilerOptions, files: ["main.ts"] }],
  ]
}
