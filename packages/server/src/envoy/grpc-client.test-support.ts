import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as grpc from "@grpc/grpc-js"
import { loadSync } from "@grpc/proto-loader"

const folder = fileURLToPath(new URL("../../proto/", import.meta.url))

interface Descriptor {
  entries: { key: string; value: string }[]
  limit?: { requestsPerUnit: number; unit: string }
  hitsAddend?: { value: number | string }
}

export interface Question {
  domain: string
  descriptors: Descriptor[]
  hitsAddend?: number
}

export interface Status {
  code: string
  currentLimit: { requestsPerUnit: number; unit: string; name: string } | null
  limitRemaining: number
  durationUntilReset: { seconds: string; nanos: number } | null
}

export interface Answer {
  overallCode: string
  statuses: Status[]
  responseHeadersToAdd: { key: string; value: string }[]
}

type Methods = Record<string, (...args: never[]) => unknown>

/** A client by @grpc/grpc-js, for a service of packages/server/proto. */
export function grpcClient(address: string, file: string, service: string): grpc.Client & Methods {
  const definition = loadSync(file, { includeDirs: [folder], defaults: true, enums: String, longs: String })
  const Client = grpc.makeClientConstructor(definition[service] as grpc.ServiceDefinition, service)
  return new Client(address, grpc.credentials.createInsecure()) as unknown as grpc.Client & Methods
}

export const protoFolder: string = join(folder, ".")

/** Envoy's part of the conversation. */
export class RateLimitClient {
  readonly client: grpc.Client & Methods

  constructor(address: string) {
    const service = "envoy.service.ratelimit.v3.RateLimitService"
    this.client = grpcClient(address, "envoy/service/ratelimit/v3/rls.proto", service)
  }

  ask(question: Question, options: grpc.CallOptions = {}): Promise<Answer> {
    return call<Answer>(this.client, "ShouldRateLimit", question, options)
  }

  close(): void {
    this.client.close()
  }
}

/** One message, one answer. Rejects with the status of the call. */
export function call<T>(
  client: grpc.Client & Methods,
  method: string,
  message: unknown,
  options: grpc.CallOptions = {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const run = client[method] as unknown as (
      message: unknown,
      metadata: grpc.Metadata,
      options: grpc.CallOptions,
      callback: (error: grpc.ServiceError | null, answer: T) => void,
    ) => void
    run.call(client, message, new grpc.Metadata(), options, (error, answer) => {
      if (error === null) resolve(answer)
      else reject(error)
    })
  })
}

/** `descriptor("user", "42", "path", "/")` */
export function descriptor(...texts: string[]): Descriptor {
  const entries: Descriptor["entries"] = []
  for (let i = 0; i < texts.length; i += 2)
    entries.push({ key: texts[i] as string, value: texts[i + 1] as string })
  return { entries }
}
