import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { ask, type Reply } from "./api.js"

export interface Asked<Data> {
  /** The last answer. It stays while the next one is loading. */
  readonly reply: Reply<Data> | undefined
  /** Why the last request failed, if it did. */
  readonly problem: unknown
  readonly reload: () => void
}

/** The answer to a GET, loaded again when the address changes. An undefined address loads nothing. */
export function useAsked<Data>(address: string | undefined): Asked<Data> {
  const [state, setState] = useState<{ reply?: Reply<Data>; problem?: unknown; address?: string }>({})
  const under = useRef<AbortController>(null)
  const load = useCallback(() => {
    under.current?.abort()
    if (address === undefined) return
    const call = new AbortController()
    under.current = call
    ask<Data>("GET", address, { signal: call.signal }).then(
      (reply) => setState({ reply, address }),
      (problem: unknown) => {
        if (!call.signal.aborted) setState((before) => ({ ...before, problem }))
      },
    )
  }, [address])
  useEffect(() => {
    load()
    return () => under.current?.abort()
  }, [load])
  // An answer belongs to the address that it was loaded from.
  return { reply: state.address === address ? state.reply : undefined, problem: state.problem, reload: load }
}

/** The same, loaded again every `everyMs` while the page is visible. */
export function useAskedAgain<Data>(address: string, everyMs: number): Asked<Data> {
  const asked = useAsked<Data>(address)
  const { reload } = asked
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [reload, everyMs])
  return asked
}
