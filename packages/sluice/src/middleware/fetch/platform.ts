// What the runtime tells of a client's address when it passes none beside the request. A header is read only on the platform
// that sets it on every request: anywhere else, any client could send it.

/** Reads the client's address from the header of the platform that runs this process. */
type PlatformAddress = (request: Request) => string | undefined

interface Runtime {
  navigator?: { userAgent?: unknown }
  process?: { env?: Readonly<Record<string, string | undefined>> }
  Deno?: unknown
  Bun?: unknown
}

/** Undefined where no known platform runs this process. */
export function platformAddress(runtime: Runtime = globalThis as Runtime): PlatformAddress | undefined {
  if (isWorkers(runtime)) {
    // A workerd of your own has no `cf`: nobody sets the header there.
    return (request) => ("cf" in request && request.cf ? header(request, "cf-connecting-ip") : undefined)
  }
  // A copy of the project's environment variables has no region.
  const { VERCEL, VERCEL_REGION } = runtime.process?.env ?? {}
  if (VERCEL === "1" && VERCEL_REGION) return (request) => header(request, "x-vercel-forwarded-for")
  return undefined
}

/** How to make the client's address known in this runtime. */
export function addressAdvice(runtime: Runtime = globalThis as Runtime): string {
  const advice =
    "give the option ip, trustProxy if a proxy sets X-Forwarded-For, or count by something else with keyBy or key"
  if (runtime.Deno !== undefined) return `pass on the second argument of Deno.serve's handler, or ${advice}`
  if (runtime.Bun !== undefined)
    return `pass on the second argument of fetch, which is Bun's server, or ${advice}`
  return advice
}

function isWorkers({ navigator }: Runtime): boolean {
  return navigator?.userAgent === "Cloudflare-Workers"
}

function header(request: Request, name: string): string | undefined {
  return request.headers.get(name) ?? undefined
}
