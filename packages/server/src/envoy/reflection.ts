// gRPC server reflection, v1 and v1alpha, which differ in name only. Clients such as grpcurl and buf curl use it to discover
// services and messages.

import { type FileDescriptor, fileDescriptors } from "./file-descriptors.js"
import { framed } from "./grpc-frame.js"
import type { StreamMethod } from "./grpc-method.js"
import { GRPC_STATUS } from "./grpc-status.js"
import { BYTES, ProtobufReader } from "./protobuf-reader.js"
import { ProtobufWriter } from "./protobuf-writer.js"

/** The kinds of request, by field number. */
const FILE_BY_FILENAME = 3
const FILE_CONTAINING_SYMBOL = 4
const FILE_CONTAINING_EXTENSION = 5
const ALL_EXTENSION_NUMBERS_OF_TYPE = 6
const LIST_SERVICES = 7

const SERVICES = [
  "envoy.service.ratelimit.v3.RateLimitService",
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
]

const filesByName = new Map(fileDescriptors.map((file) => [file.name, file]))
const filesBySymbol = new Map(fileDescriptors.flatMap((file) => file.symbols.map((symbol) => [symbol, file])))

export function reflectionMethods(): (readonly [string, StreamMethod])[] {
  const writer = new ProtobufWriter()
  const method: StreamMethod = {
    kind: "stream",
    open: ({ send, end }) => ({
      message: (message) => send(framed(writer, (response) => writeResponse(response, message))),
      end: () => end(),
    }),
  }
  return ["v1", "v1alpha"].map((version) => [
    `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    method,
  ])
}

function writeResponse(writer: ProtobufWriter, request: Buffer): void {
  const { host, field, value } = readRequest(request)
  writer.string(1, host)
  writer.bytes(2, request)
  if (field === FILE_BY_FILENAME) writeFiles(writer, filesByName.get(value), `file "${value}"`)
  else if (field === FILE_CONTAINING_SYMBOL) writeFiles(writer, filesBySymbol.get(value), `symbol "${value}"`)
  else if (field === ALL_EXTENSION_NUMBERS_OF_TYPE) writeExtensions(writer, value)
  else if (field === LIST_SERVICES) writeServices(writer)
  else if (field === FILE_CONTAINING_EXTENSION) writeError(writer, "NOT_FOUND", "there are no extensions")
  else writeError(writer, "INVALID_ARGUMENT", "unknown kind of request")
}

/** If a request contains several kinds, the last one counts. */
function readRequest(bytes: Buffer): { host: string; field: number; value: string } {
  const reader = new ProtobufReader(bytes)
  let host = ""
  let field = 0
  let value = ""
  while (reader.next()) {
    if (reader.is(1, BYTES)) host = reader.string()
    else if (reader.is(FILE_CONTAINING_EXTENSION, BYTES)) {
      field = reader.field
      reader.skip()
    } else if (reader.type === BYTES && reader.field >= FILE_BY_FILENAME && reader.field <= LIST_SERVICES) {
      field = reader.field
      value = reader.string()
    } else reader.skip()
  }
  return { host, field, value }
}

/** Writes a file and those it imports, so that the client need not ask for each. */
function writeFiles(writer: ProtobufWriter, file: FileDescriptor | undefined, what: string): void {
  if (file === undefined) {
    writeError(writer, "NOT_FOUND", `unknown ${what.slice(0, 200)}`)
    return
  }
  const files = new Set([file])
  for (const { imports } of files) {
    for (const name of imports) files.add(filesByName.get(name) as FileDescriptor)
  }
  const start = writer.enter(4)
  for (const { base64 } of files) writer.bytes(1, Buffer.from(base64, "base64"))
  writer.leave(start)
}

function writeServices(writer: ProtobufWriter): void {
  const list = writer.enter(6)
  for (const name of SERVICES) {
    const start = writer.enter(1)
    writer.string(1, name)
    writer.leave(start)
  }
  writer.leave(list)
}

function writeExtensions(writer: ProtobufWriter, type: string): void {
  if (!filesBySymbol.has(type)) {
    writeError(writer, "NOT_FOUND", `unknown type "${type.slice(0, 200)}"`)
    return
  }
  const start = writer.enter(5)
  writer.string(1, type)
  writer.leave(start)
}

function writeError(writer: ProtobufWriter, status: "NOT_FOUND" | "INVALID_ARGUMENT", message: string): void {
  const start = writer.enter(7)
  writer.uint(1, GRPC_STATUS[status])
  writer.string(2, message)
  writer.leave(start)
}
