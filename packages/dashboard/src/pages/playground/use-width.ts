import type { RefObject } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"

/** How wide an element is: what is drawn in pixels stays sharp, and its letters keep their size. */
export function useWidth<Element extends HTMLElement>(): [RefObject<Element | null>, number] {
  const element = useRef<Element>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const found = element.current
    if (found === null) return
    const sized = new ResizeObserver(() => setWidth(found.clientWidth))
    sized.observe(found)
    return () => sized.disconnect()
  }, [])
  return [element, width]
}
