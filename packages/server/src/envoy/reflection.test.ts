import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { ClientDuplexStream } from "@grpc/grpc-js"
import protobuf from "protobufjs"
import descriptor from "protobufjs/ext/descriptor.js"
import { afterEach, describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { testCore } from "../core.test-support.js"
import { fileDescriptors } from "./file-descriptors.js"
import { grpcClient, protoFolder } from "./grpc-client.test-support.js"
import { startEnvoy } from "./start-envoy.js"

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

interface Response {
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly Buffer[] } | null
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] } | null
  readonly errorResponse?: { readonly errorCode: number; readonly errorMessage: string } | null
  readonly allExtensionNumbersResponse?: { readonly baseTypeName: string } | null
}

/** Asks everything on one stream, and resolves once the server has ended it. */
async function reflect(version: string, requests: readonly object[]): Promise<Response[]> {
  const core = testCore("version: 1\nrules: []")
  const listener = await startEnvoy(core, { host: "127.0.0.1", port: 0 })
  const file = `grpc/reflection/${version}/reflection.proto`
  const client = grpcClient(listener.address, file, `grpc.reflection.${version}.ServerReflection`)
  cleanUps.push(
    () => core.close(),
    () => listener.close(0),
    () => client.close(),
  )
  const open = client.ServerReflectionInfo as unknown as () => ClientDuplexStream<object, Response>
  const stream = open.call(client)
  const responses: Response[] = []
  let isEnded = false
  stream.on("data", (response: Response) => responses.push(response))
  stream.on("end", () => {
    isEnded = true
  })
  for (const request of requests) stream.write(request)
  stream.end()
  await eventually(() => isEnded)
  return responses
}

const RATE_LIMIT = "envoy.service.ratelimit.v3.RateLimitService"

describe.each(["v1", "v1alpha"])("reflection %s, asked by @grpc/grpc-js", (version) => {
  it("lists the services", async () => {
    const [response] = await reflect(version, [{ listServices: "*" }])
    expect(response?.listServicesResponse?.service.map(({ name }) => name)).toEqual([
      RATE_LIMIT,
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
    ])
  })

  it("answers in order, and everything on one stream", async () => {
    const responses = await reflect(version, [
      { fileContainingSymbol: `${RATE_LIMIT}.ShouldRateLimit` },
      { fileByFilename: "no/such.proto" },
      { fileContainingSymbol: "no.Such" },
      { allExtensionNumbersOfType: "grpc.health.v1.HealthCheckRequest" },
      { fileContainingExtension: { containingType: "x.Y", extensionNumber: 1 } },
      {},
    ])
    expect(responses[0]?.fileDescriptorResponse?.fileDescriptorProto.length).toBe(6)
    expect(responses.slice(1).map(({ errorResponse }) => errorResponse?.errorCode)).toEqual([
      5,
      5,
      undefined,
      5,
      3,
    ])
    expect(responses[3]?.allExtensionNumbersResponse?.baseTypeName).toBe("grpc.health.v1.HealthCheckRequest")
  })
})

describe("the file descriptors", () => {
  it("describe the types of the proto files, including every import", async () => {
    const symbols = [RATE_LIMIT, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"]
    const responses = await reflect(
      "v1",
      symbols.map((symbol) => ({ fileContainingSymbol: symbol })),
    )
    const set = descriptor.FileDescriptorSet.create({ file: [] })
    const names = new Set<string>()
    for (const { fileDescriptorResponse } of responses) {
      for (const bytes of fileDescriptorResponse?.fileDescriptorProto ?? []) {
        const file = descriptor.FileDescriptorProto.decode(bytes)
        if (!names.has(file.name as string)) set.file.push(file)
        names.add(file.name as string)
      }
    }
    for (const { dependency } of set.file) for (const name of dependency) expect(names).toContain(name)
    const described = (
      protobuf.Root as unknown as { fromDescriptor(set: object): protobuf.Root }
    ).fromDescriptor(set)
    described.resolveAll()
    const question = {
      domain: "edge",
      descriptors: [{ entries: [{ key: "user", value: "é" }], limit: { requestsPerUnit: 7, unit: 2 } }],
      hitsAddend: 3,
    }
    const name = "envoy.service.ratelimit.v3.RateLimitRequest"
    const bytes = described.lookupType(name).encode(question).finish()
    expect(written().lookupType(name).decode(bytes)).toMatchObject(question)
  })

  it("match the text of every proto file", () => {
    const own = fileDescriptors.filter(({ name }) => !name.startsWith("google/"))
    expect(own.length).toBe(7)
    for (const { name, imports } of own) {
      const text = readFileSync(join(protoFolder, name), "utf8")
      expect(imports).toEqual([...text.matchAll(/^import "(.+)";$/gm)].map(([, path]) => path))
    }
  })
})

/** The types as the proto files have them. */
function written(): protobuf.Root {
  const root = new protobuf.Root()
  root.resolvePath = (_, path) => (protobuf.common.get(path) === null ? join(protoFolder, path) : path)
  return root.loadSync("envoy/service/ratelimit/v3/rls.proto")
}
