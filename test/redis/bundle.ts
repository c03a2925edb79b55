import { join } from "node:path"
import { build } from "rolldown"

/** Compiles the library into one file of JavaScript in a folder, for processes that run plain Node. Returns its path. */
export async function bundleLibrary(folder: string): Promise<string> {
  const file = join(folder, "sluice.mjs")
  const source = new URL("../../packages/sluice/src/", import.meta.url).pathname
  const entry = `export { createLimiter } from "${source}index.ts"\nexport { connectRedis, redisStore } from "${source}stores/redis/index.ts"`
  await build({
    input: "entry",
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === "entry" ? id : null),
        load: (id) => (id === "entry" ? entry : null),
      },
    ],
    platform: "node",
    external: ["ioredis"],
    output: { file, codeSplitting: false },
    logLevel: "silent",
  })
  return file
}
