import type { RevisionInfo, RuleSetDocument } from "sluice/rules"
import { stringify } from "yaml"
import type { Service } from "../service.js"
import type { Held, RuleHome, Saved } from "./rule-home.js"

/** Rules of a running service, through its control plane. */
export class ServiceHome implements RuleHome {
  readonly #service: Service

  constructor(service: Service) {
    this.#service = service
  }

  get name(): string {
    return this.#service.url
  }

  async read(): Promise<Held> {
    const response = await this.#service.open("GET", "/rules")
    const document = await this.#service.read<RuleSetDocument>(response)
    return {
      document,
      text: stringify(document, { lineWidth: 0 }),
      etag: response.headers.get("etag") ?? "*",
      revision: revisionOf(response),
    }
  }

  async replace(held: Held, next: RuleSetDocument, comment: string | undefined): Promise<Saved> {
    const query = comment === undefined ? "" : `?comment=${encodeURIComponent(comment)}`
    return await this.#save("PUT", `/rules${query}`, next, held)
  }

  async history(): Promise<readonly RevisionInfo[]> {
    return await this.#service.ask("GET", "/rules/revisions")
  }

  async revision(number: number): Promise<RuleSetDocument> {
    return await this.#service.ask("GET", `/rules/revisions/${number}`)
  }

  async rollback(held: Held, revision: number, comment: string | undefined): Promise<Saved> {
    const body = { revision, ...(comment === undefined ? {} : { comment }) }
    return await this.#save("POST", "/rules/rollback", body, held)
  }

  async #save(method: string, path: string, body: unknown, { etag = "*" }: Held): Promise<Saved> {
    const response = await this.#service.open(method, path, { body, headers: { "if-match": etag } })
    return { revision: revisionOf(response), document: await this.#service.read(response) }
  }
}

function revisionOf(response: Response): number {
  return Number(response.headers.get("sluice-revision"))
}
