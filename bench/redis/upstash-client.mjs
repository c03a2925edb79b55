// What @upstash/ratelimit asks of its own client, which speaks HTTP to Upstash's servers, on ioredis and a plain Redis.

import { createHash } from "node:crypto"

/** Upstash's servers know this flag; Redis refuses a script that carries it. The script works the same without. */
const FLAG = /^#!lua flags=allow-key-locking\r?\n/

/** @param {import("ioredis").Redis} client */
export function onUpstash(client) {
  /** By the digest @upstash/ratelimit knows, the one Redis knows. @type {Map<string, string>} */
  const digests = new Map()
  return {
    /**
     * @param {string} digest
     * @param {string[]} keys
     * @param {(string | number)[]} args
     */
    evalsha(digest, keys, args) {
      const known = digests.get(digest)
      if (known === undefined) return Promise.reject(new Error("NOSCRIPT No matching script."))
      return client.evalsha(known, keys.length, ...keys, ...args)
    },

    /**
     * @param {string} source
     * @param {string[]} keys
     * @param {(string | number)[]} args
     */
    async eval(source, keys, args) {
      const known = /** @type {string} */ (await client.script("LOAD", source.replace(FLAG, "")))
      digests.set(createHash("sha1").update(source).digest("hex"), known)
      return client.evalsha(known, keys.length, ...keys, ...args)
    },
  }
}
