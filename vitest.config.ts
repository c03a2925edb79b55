import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: { alias: [...sourceAliases("sluice"), ...sourceAliases("server")] },
  test: {
    include: [
      "packages/*/src/**/*.test.ts",
      "test/**/*.test.ts",
      "scripts/**/*.test.mjs",
      "bench/harness/**/*.test.mjs",
      "bench/redis/**/*.test.mjs",
    ],
  },
})

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
