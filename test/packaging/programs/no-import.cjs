// Loads the package as Jest loads CommonJS: a function of its own makes a module of each file, and import() fails in them.

const { readFileSync } = require("node:fs")
const { createRequire, isBuiltin } = require("node:module")
const vm = require("node:vm")

const modules = new Map()

function load(file) {
  const known = modules.get(file)
  if (known !== undefined) return known.exports
  const module = { exports: {} }
  modules.set(file, module)
  const { resolve } = createRequire(file)
  const require = (name) => (isBuiltin(name) ? process.getBuiltinModule(name) : load(resolve(name)))
  const code = readFileSync(file, "utf8")
  vm.compileFunction(code, ["module", "exports", "require"], { filename: file })(
    module,
    module.exports,
    require,
  )
  return module.exports
}

async function main() {
  const { createLimiter } = load(require.resolve("sluice"))
  const { connectRedis } = load(require.resolve("sluice/redis"))
  const limiter = createLimiter({ limit: 2, window: "1m" })
  const { allowed } = await limiter.check("user:42")
  // The first wait loads the queue, and a store by URL loads ioredis.
  const waited = await limiter.wait("user:42")
  const missing = await connectRedis("redis://127.0.0.1").catch((error) => error.code)
  console.log(allowed, waited.allowed, missing)
  await limiter.close()
}
void main()
