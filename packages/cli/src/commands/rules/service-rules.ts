import type { RevisionInfo, RuleSetDocument } from "sluice/rules"
import { stringify } from "yaml"
import type { ServiceClient } from "../../service-client.js"
import type { RulesLocation, RulesSnapshot, SavedRules } from "./rules-location.js"

/** The rules of a running service, read and changed through its control plane. */
export class ServiceRules implements RulesLocation {
  readonly #service: ServiceClient

  constructor(service: ServiceClient) {
    this.#service = service
  }

  get name(): string {
    return this.#service.url
  }

  async read(): Promise<RulesSnapshot> {
    const response = await this.#service.send("GET", "/rules")
    const document = await this.#service.readJson<RuleSetDocument>(response)
    return {
      document,
      text: stringify(document, { lineWidth: 0 }),
      etag: response.headers.get("etag") ?? "*",
      revision: revisionOf(response),
    }
  }

  async replace(
    base: RulesSnapshot,
    next: RuleSetDocument,
    comment: string | undefined,
  ): Promise<SavedRules> {
    const query = comment === undefined ? "" : `?comment=${encodeURIComponent(comment)}`
    return await this.#save("PUT", `/rules${query}`, next, base)
  }

  async history(): Promise<readonly RevisionInfo[]> {
    return await this.#service.request("GET", "/rules/revisions")
  }

  async revision(number: number): Promise<RuleSetDocument> {
    return await this.#service.request("GET", `/rules/revisions/${number}`)
  }

  async rollback(base: RulesSnapshot, revision: number, comment: string | undefined): Promise<SavedRules> {
    const body = { revision, ...(comment === undefined ? {} : { comment }) }
    return await this.#save("POST", "/rules/rollback", body, base)
  }

  async #save(
    method: string,
    path: string,
    body: unknown,
    { etag = "*" }: RulesSnapshot,
  ): Promise<SavedRules> {
    const response = await this.#service.send(method, path, { body, headers: { "if-match": etag } })
    return { revision: revisionOf(response), document: await this.#service.readJson(response) }
  }
}

function revisionOf(response: Response): number {
  return Number(response.headers.get("sluice-revision"))
}
