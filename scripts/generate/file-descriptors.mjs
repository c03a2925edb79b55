// The file descriptors that gRPC reflection answers with, from the files in packages/server/proto.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import protobuf from "protobufjs"
import descriptor from "protobufjs/ext/descriptor.js"
import { root } from "../root.mjs"

const folder = join(root, "packages", "server", "proto")
const target = "packages/server/src/envoy/file-descriptors.ts"
const entryFiles = [
  "envoy/service/ratelimit/v3/rls.proto",
  "grpc/health/v1/health.proto",
  "grpc/reflection/v1/reflection.proto",
  "grpc/reflection/v1alpha/reflection.proto",
]

/** @returns {Record<string, string>} */
export function generate() {
  const files = describeFiles()
  const text = files.map(({ name, imports, symbols, bytes }) => {
    const list = (/** @type {string[]} */ texts) =>
      texts.map((one) => `      ${JSON.stringify(one)},\n`).join("")
    const imported = imports.length === 0 ? "[]" : `[\n${list(imports)}    ]`
    const base64 = Buffer.from(bytes).toString("base64")
    return `  {\n    name: ${JSON.stringify(name)},\n    imports: ${imported},\n    symbols: [\n${list(symbols)}    ],\n    base64:\n      "${base64}",\n  },\n`
  })
  return {
    [target]: `// Made from packages/server/proto by scripts/generate/file-descriptors.mjs. DO NOT EDIT: run npm run generate.
// biome-ignore-all format: one entry per line.

export interface FileDescriptor {
  readonly name: string
  readonly imports: readonly string[]
  /** The full names of its messages, enums, services and methods. */
  readonly symbols: readonly string[]
  /** The FileDescriptorProto. */
  readonly base64: string
}

export const fileDescriptors: readonly FileDescriptor[] = [
${text.join("")}]
`,
  }
}

function describeFiles() {
  const types = new protobuf.Root()
  types.resolvePath = (_, path) => (protobuf.common.get(path) ? path : join(folder, path))
  types.loadSync(entryFiles)
  types.resolveAll()
  return types.files
    .map((path) => (path.startsWith(folder) ? path.slice(folder.length + 1) : path))
    .sort()
    .map((name) => describeFile(types, name))
}

/** @param {protobuf.Root} types @param {string} name */
function describeFile(types, name) {
  const wellKnown = protobuf.common.get(name)
  const source = wellKnown ? undefined : readFileSync(join(folder, name), "utf8")
  const imports = [...(source ?? "").matchAll(/^import "(.+)";$/gm)].map((match) => match[1] ?? "")
  const packageName = /^package (.+);$/m.exec(source ?? "")?.[1] ?? "google.protobuf"
  const scope = /** @type {protobuf.Namespace} */ (types.lookup(packageName))
  const known = Object.keys(/** @type {any} */ (wellKnown)?.nested.google.nested.protobuf.nested ?? {})
  // The package google.protobuf consists of several files, so take only what is in this one.
  const own = scope.nestedArray.filter((object) => source !== undefined || known.includes(object.name))
  const file = descriptor.FileDescriptorProto.create({
    name,
    package: packageName,
    dependency: imports,
    syntax: "proto3",
  })
  /** @type {string[]} */
  const symbols = []
  for (const object of own) {
    if (object instanceof protobuf.Type) file.messageType.push(describeMessage(object, symbols))
    else if (object instanceof protobuf.Enum) file.enumType.push(describeEnum(object, symbols))
    else if (object instanceof protobuf.Service) file.service.push(describeService(object, symbols))
  }
  return { name, imports, symbols, bytes: descriptor.FileDescriptorProto.encode(file).finish() }
}

/** The descriptor of protobufjs names types as the file does, but reflection requires full names. */
function describeMessage(/** @type {protobuf.Type} */ type, /** @type {string[]} */ symbols) {
  /** @type {any} */
  const message = type.toDescriptor("proto3")
  symbols.push(type.fullName.slice(1))
  type.fieldsArray.forEach((field, i) => {
    const described = message.field[i]
    if (field.resolvedType && described) described.typeName = field.resolvedType.fullName
  })
  const nested = type.nestedArray
  message.nestedType = nested.flatMap((one) =>
    one instanceof protobuf.Type ? [describeMessage(one, symbols)] : [],
  )
  message.enumType = nested.flatMap((one) =>
    one instanceof protobuf.Enum ? [describeEnum(one, symbols)] : [],
  )
  return message
}

function describeEnum(/** @type {protobuf.Enum} */ type, /** @type {string[]} */ symbols) {
  symbols.push(type.fullName.slice(1))
  return type.toDescriptor()
}

function describeService(/** @type {protobuf.Service} */ type, /** @type {string[]} */ symbols) {
  /** @type {any} */
  const service = type.toDescriptor()
  symbols.push(type.fullName.slice(1))
  type.methodsArray.forEach((method, i) => {
    const described = service.method[i]
    symbols.push(`${type.fullName.slice(1)}.${method.name}`)
    if (!described) return
    described.inputType = method.resolvedRequestType?.fullName
    described.outputType = method.resolvedResponseType?.fullName
    described.clientStreaming = method.requestStream
    described.serverStreaming = method.responseStream
  })
  return service
}
